"""The due work of CloudWatch: alarms are evaluated, waits of composite alarms and mutes end."""
