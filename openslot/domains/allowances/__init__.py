"""How much one who causes a cost may cause: emails to strangers, messages, times, codes; counted by cause."""
