environment          = "stage"
audit_retention_days = 30
