"""Plans by subscription."""
