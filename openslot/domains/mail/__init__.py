"""Mail: written once, and sent by SMTP or kept in the embedded mailbox."""
