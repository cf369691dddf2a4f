package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A paramHeader is an argument of a tool that clients repeat in a header, so
// that intermediaries can route by it.
type paramHeader struct {
	header string   // the whole name, Mcp-Param-…
	path   []string // of the argument, through nested objects
}

// matchParamHeaders compares the repeated arguments of a tool call with the
// body. An argument that is absent or null has no header.
func (g *gate) matchParamHeaders(h http.Header, m *message, c *call) *refusal {
	if m.method != "tools/call" {
		return nil
	}
	for _, p := range g.paramHeaders[c.tool] {
		sent, found, refused := oneHeader(h, p.header)
		if refused != nil {
			return refused
		}
		value := argument(m.params.Arguments, p.path)
		expected := value != nil && !isNull(value)
		text, ok := decodeHeaderValue(sent)
		if found != expected || found && (!ok || !sameValue(value, text)) {
			return headerMismatch("param_mismatch", p.header+" does not match the argument in the body")
		}
	}
	return nil
}

// argument is the value at a path of property names, nil if there is none.
func argument(v jsontext.Value, path []string) jsontext.Value {
	for _, name := range path {
		var members map[string]jsontext.Value
		if v.Kind() != '{' || json.Unmarshal(v, &members) != nil {
			return nil
		}
		v = members[name]
	}
	return v
}

// sameValue compares an argument with its header. Integers are compared as
// numbers; what is neither string, boolean nor integer cannot be in a header.
func sameValue(v jsontext.Value, header string) bool {
	switch v.Kind() {
	case '"':
		text, ok := stringValue(v)
		return ok && text == header
	case 't', 'f':
		return string(v) == header
	case '0':
		inBody, ok := wholeNumber(string(v))
		inHeader, ok2 := wholeNumber(header)
		return ok && ok2 && inBody == inHeader
	}
	return false
}

// wholeNumber reads 42 and 42.0, within the integers every reader keeps exactly.
func wholeNumber(s string) (int64, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if strings.Trim(fraction, "0") != "" || !isSafeInteger(jsontext.Value(whole)) {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	return n, err == nil
}

// readParamHeaders finds the arguments that a tool's input schema marks with
// x-mcp-header. A mark that clients would reject the tool for is an error
// (specification, basic/transports/streamable-http, "Schema Extension").
func readParamHeaders(schema []byte) ([]paramHeader, error) {
	var node any
	if err := json.Unmarshal(schema, &node); err != nil {
		return nil, fmt.Errorf("read x-mcp-header: %w", err)
	}
	var found []paramHeader
	if err := collectParamHeaders(node, []string{}, &found); err != nil {
		return nil, fmt.Errorf("read x-mcp-header: %w", err)
	}
	slices.SortFunc(found, func(a, b paramHeader) int {
		return strings.Compare(strings.ToLower(a.header), strings.ToLower(b.header))
	})
	for i := 1; i < len(found); i++ {
		if strings.EqualFold(found[i-1].header, found[i].header) {
			return nil, fmt.Errorf("read x-mcp-header: %s is named twice", found[i].header)
		}
	}
	return found, nil
}

// collectParamHeaders walks a schema. The path is nil where a value could be
// reached otherwise than through properties alone.
func collectParamHeaders(node any, path []string, found *[]paramHeader) error {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			if err := collectParamHeaders(child, nil, found); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := markedProperty(node, path, found); err != nil {
			return err
		}
		for keyword, child := range node {
			if err := collectBelow(keyword, child, path, found); err != nil {
				return err
			}
		}
	}
	return nil
}

func collectBelow(keyword string, child any, path []string, found *[]paramHeader) error {
	switch keyword {
	case "const", "default", "enum", "examples", "x-mcp-header": // values, not schemas
		return nil
	case "properties":
		properties, _ := child.(map[string]any)
		for name, property := range properties {
			var below []string
			if path != nil {
				below = append(slices.Clone(path), name)
			}
			if err := collectParamHeaders(property, below, found); err != nil {
				return err
			}
		}
		return nil
	default:
		return collectParamHeaders(child, nil, found)
	}
}

func markedProperty(node map[string]any, path []string, found *[]paramHeader) error {
	mark, marked := node["x-mcp-header"]
	if !marked {
		return nil
	}
	name, _ := mark.(string)
	switch kind, _ := node["type"].(string); {
	case len(path) == 0:
		return errors.New("it stands where properties alone do not lead")
	case name == "" || strings.ContainsFunc(name, notTokenChar):
		return fmt.Errorf("%q is no name for a header", name)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Errorf("property %s is neither string, integer nor boolean", strings.Join(path, "."))
	}
	*found = append(*found, paramHeader{header: headerParamPrefix + name, path: path})
	return nil
}

// notTokenChar: field names are tokens (RFC 9110, section 5.6.2).
func notTokenChar(r rune) bool {
	alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
