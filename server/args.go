package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// An argSchema is a tool's input schema, parsed once when the server starts.
// It is what tools/list shows and what every call is judged by: there is no
// second description of the arguments that could drift from it.
type argSchema struct {
	properties map[string]property
	required   []string
	known      string // the property names, for the error that lists them
}

type property struct {
	rule     *jsonschema.Resolved
	describe string
}

// parseArgSchema refuses a schema that leaves a door open: one that is not
// closed, or a property whose values are not bounded or not explained. The
// explanation doubles as the error text, so that no error quotes what was sent.
func parseArgSchema(raw string) (*argSchema, error) {
	var schema jsonschema.Schema
	if err := jsonv2.Unmarshal([]byte(raw), &schema); err != nil {
		return nil, fmt.Errorf("parse input schema: %w", err)
	}
	if schema.Type != "object" || schema.AdditionalProperties == nil || schema.AdditionalProperties.Not == nil {
		return nil, fmt.Errorf("input schema must be a closed object")
	}
	s := &argSchema{properties: map[string]property{}, required: schema.Required}
	for name, p := range schema.Properties {
		if p.Description == "" || !bounded(p) {
			return nil, fmt.Errorf("property %s must be described and bounded", name)
		}
		rule, err := p.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("resolve property %s: %w", name, err)
		}
		s.properties[name] = property{rule: rule, describe: p.Description}
	}
	s.known = strings.Join(slices.Sorted(maps.Keys(s.properties)), ", ")
	return s, nil
}

func bounded(p *jsonschema.Schema) bool {
	switch p.Type {
	case "string":
		return p.MaxLength != nil || p.Enum != nil
	case "integer":
		return p.Minimum != nil && p.Maximum != nil
	default:
		return p.Type == "boolean"
	}
}

// decode checks the arguments of a call against the schema and decodes them
// into the tool's own type. Its error is for the model to read: it names the
// argument and the rule, never the value.
//
// The text is brought into the canonical form of RFC 8785 first, so that 2, 2.0
// and 2e0 are one value for the checks, for the tool and for the digest that a
// sealed requestState is bound to.
func (s *argSchema) decode(raw json.RawMessage, into any) error {
	text := jsontext.Value(slices.Clone(raw))
	if len(text) == 0 {
		text = jsontext.Value("{}")
	}
	if err := text.Canonicalize(); err != nil {
		return toolErrorf("the arguments are not valid JSON text: send each argument once, as well-formed Unicode")
	}
	var values map[string]any
	if err := jsonv2.Unmarshal(text, &values); err != nil {
		return toolErrorf("the arguments are not a JSON object with values in range")
	}
	if err := s.check(values); err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(text, into, jsonv2.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("decode arguments that fit the schema: %w", err)
	}
	return nil
}

func (s *argSchema) check(values map[string]any) error {
	for name := range values {
		if _, ok := s.properties[name]; !ok {
			return toolErrorf("an argument is not known: the arguments are %s", s.listed())
		}
	}
	for _, name := range s.required {
		if _, ok := values[name]; !ok {
			return toolErrorf("the argument %s is missing: %s", name, s.properties[name].describe)
		}
	}
	for name, p := range s.properties {
		value, ok := values[name]
		if ok && p.rule.Validate(value) != nil {
			return toolErrorf("the argument %s does not fit: %s", name, p.describe)
		}
	}
	return nil
}

func (s *argSchema) listed() string {
	if s.known == "" {
		return "none"
	}
	return s.known
}
