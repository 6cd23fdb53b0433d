//go:build tools

// Package tools pins the time provider. Nothing here is compiled: the import
// keeps the requirement in go.mod.
package tools

import _ "github.com/hashicorp/terraform-provider-time"
