//go:build tools

// Package tools pins tflint. Nothing here is compiled: the import keeps the
// requirement in go.mod.
package tools

import _ "github.com/terraform-linters/tflint"
