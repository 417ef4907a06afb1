"""What a command comes to: events and a reply, or a refusal; and every event decided again."""
