"""What a search came to, told to a person: verdict, story, advice, test."""
