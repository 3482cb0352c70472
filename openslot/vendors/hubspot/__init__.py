"""HubSpot as a CRM."""
