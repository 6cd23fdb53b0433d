//go:build tools

// Package tools pins the OpenTofu command line. Nothing here is compiled: the
// import keeps the requirement in go.mod.
package tools

import _ "github.com/opentofu/opentofu/cmd/tofu"
