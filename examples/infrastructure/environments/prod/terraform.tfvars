environment          = "prod"
audit_retention_days = 365
address_range        = "10.40.0.0/16"
