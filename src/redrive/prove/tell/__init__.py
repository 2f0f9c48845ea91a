"""The result of a search for the user: verdict, story, advice, test."""
