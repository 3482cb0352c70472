"""The CRMs that hosts can connect: one file a vendor."""
