// Command argo-fields prints the fields of Argo's documents, one a line: type, field, shape,
// divided by tabs. It reflects over Argo's own Go types, so the table is what Argo's decoder
// knows. Kubernetes types are opened only where the table's reader honours a part of them; any
// other is printed as one subtree.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	argo "github.com/argoproj/argo-workflows/v4/pkg/apis/workflow/v1alpha1"
)

const module = "github.com/argoproj/argo-workflows/v4"

// roots are the kinds of documents that are read.
var roots = []any{
	argo.Workflow{},
	argo.CronWorkflow{},
	argo.WorkflowTemplate{},
	argo.ClusterWorkflowTemplate{},
}

// leaves are types that decode themselves, with the shape that they accept.
var leaves = map[string]string{
	"argo.AnyString":         "anystring",
	"argo.Item":              "any",
	"argo.Object":            "any",
	"argo.Plugin":            "any",
	"argo.Amount":            "float",
	"intstr.IntOrString":     "intorstring",
	"resource.Quantity":      "quantity",
	"meta.Time":              "time",
	"meta.Duration":          "string",
	"meta.FieldsV1":          "any",
	"json.RawMessage":        "any",
	"runtime.RawExtension":   "any",
	"argo.ResourcesDuration": "map int",
}

// opened are the Kubernetes types whose fields are printed.
var opened = map[string]bool{
	"core.Container":                         true,
	"core.EnvVar":                            true,
	"core.EnvVarSource":                      true,
	"core.EnvFromSource":                     true,
	"core.SecretEnvSource":                   true,
	"core.ConfigMapEnvSource":                true,
	"core.SecretKeySelector":                 true,
	"core.ConfigMapKeySelector":              true,
	"core.LocalObjectReference":              true,
	"core.VolumeMount":                       true,
	"core.ResourceRequirements":              true,
	"core.ResourceClaim":                     true,
	"core.ContainerPort":                     true,
	"core.Volume":                            true,
	"core.EmptyDirVolumeSource":              true,
	"core.SecretVolumeSource":                true,
	"core.ConfigMapVolumeSource":             true,
	"core.KeyToPath":                         true,
	"core.HostPathVolumeSource":              true,
	"core.PersistentVolumeClaimVolumeSource": true,
	"core.PersistentVolumeClaim":             true,
	"meta.ObjectMeta":                        true,
}

type row struct{ owner, field, shape string }

type table struct {
	rows []row
	seen map[string]bool
}

func main() {
	t := &table{seen: map[string]bool{}}
	for _, root := range roots {
		t.open(reflect.TypeOf(root))
	}
	sort.SliceStable(t.rows, func(i, j int) bool { return t.rows[i].owner < t.rows[j].owner })
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintf(out, "# %s %s\n", module, version())
	for _, r := range t.rows {
		fmt.Fprintf(out, "%s\t%s\t%s\n", r.owner, r.field, r.shape)
	}
}

// version is that of Argo's module as it was linked in.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	fail("the build does not say which version of %s it holds", module)
	return ""
}

// open prints the fields of a struct, once.
func (t *table) open(typ reflect.Type) {
	owner := name(typ)
	if t.seen[owner] {
		return
	}
	t.seen[owner] = true
	t.fields(owner, typ)
}

// fields prints the fields of a struct under the name of their owner; those of structs that are
// inlined count as its own.
func (t *table) fields(owner string, typ reflect.Type) {
	for i := range typ.NumField() {
		field := typ.Field(i)
		if !field.IsExported() {
			continue
		}
		tag, has := field.Tag.Lookup("json")
		key, options, _ := strings.Cut(tag, ",")
		if key == "-" {
			continue
		}
		inline := key == "" && (field.Anonymous || strings.Contains(options, "inline"))
		if inline {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			t.fields(owner, inner)
			continue
		}
		if !has || key == "" {
			fail("%s.%s has no name in JSON", owner, field.Name)
		}
		t.rows = append(t.rows, row{owner, key, t.shape(field.Type)})
	}
}

var decoder = reflect.TypeFor[json.Unmarshaler]()

// shape names what a field accepts and opens the structs it leads to.
func (t *table) shape(typ reflect.Type) string {
	if leaf, ok := leaves[name(typ)]; ok {
		return leaf
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return t.shape(typ.Elem())
	case reflect.String:
		t.plain(typ)
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "int"
	case reflect.Float32, reflect.Float64:
		return "float"
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if typ.Name() != "" && reflect.PointerTo(typ).Implements(decoder) {
			t.plain(typ)
		}
		return "list " + t.shape(typ.Elem())
	case reflect.Map:
		return "map " + t.shape(typ.Elem())
	case reflect.Interface:
		return "any"
	case reflect.Struct:
		if name(typ) == "argo.ParallelSteps" {
			// It decodes itself as the list of its only field.
			return t.shape(typ.Field(0).Type)
		}
		known := strings.HasPrefix(name(typ), "argo.") || opened[name(typ)]
		if !known {
			return "subtree " + name(typ)
		}
		t.plain(typ)
		t.open(typ)
		return name(typ)
	default:
		fail("%s has a kind that no document has: %s", name(typ), typ.Kind())
		return ""
	}
}

// plain refuses types that decode themselves in a way this program does not know.
func (t *table) plain(typ reflect.Type) {
	if reflect.PointerTo(typ).Implements(decoder) {
		fail("%s decodes itself: say in `leaves` what it accepts", name(typ))
	}
}

// name is the short name of a type with that of its family.
func name(typ reflect.Type) string {
	if typ.Name() == "" {
		return ""
	}
	family := typ.PkgPath()
	switch {
	case family == "":
		return typ.Name()
	case strings.HasPrefix(family, module):
		family = "argo"
	case family == "k8s.io/api/core/v1":
		family = "core"
	case family == "k8s.io/apimachinery/pkg/apis/meta/v1":
		family = "meta"
	default:
		parts := strings.Split(family, "/")
		family = parts[len(parts)-1]
		if len(parts) > 1 && strings.HasPrefix(family, "v1") {
			family = parts[len(parts)-2]
		}
	}
	return family + "." + typ.Name()
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "argo-fields: "+format+"\n", args...)
	os.Exit(1)
}
