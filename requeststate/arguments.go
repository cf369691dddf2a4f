package requeststate

import (
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// digestArguments digests the decoded arguments. See [Binding] for what it asks
// of their type.
func digestArguments(arguments any) (digest, error) {
	t := reflect.TypeOf(arguments)
	if t == nil || t.Kind() != reflect.Struct {
		return digest{}, errors.New("not a struct")
	}
	if err := plain(t, 0); err != nil {
		return digest{}, err
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return digest{}, err
	}
	return sha256.Sum256(text), nil
}

// maxDepth bounds how deep argument types nest. A type that contains itself
// meets it too.
const maxDepth = 16

// plain refuses a type of which encoding/json might show less than all. Two
// different values would then have one digest, and a token of the one call would
// open on the other, which no test of the tool would notice.
func plain(t reflect.Type, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deep")
	}
	if marshals(t) {
		return fmt.Errorf("%s marshals itself", t)
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return plain(t.Elem(), depth+1)
	case reflect.Map:
		if t.Key().Kind() != reflect.String || marshals(t.Key()) {
			return fmt.Errorf("%s has keys that are no strings", t)
		}
		return plain(t.Elem(), depth+1)
	case reflect.Struct:
		return plainFields(t, depth)
	}
	return fmt.Errorf("%s is not plain data", t)
}

func plainFields(t reflect.Type, depth int) error {
	for f := range t.Fields() {
		if !f.IsExported() || f.Anonymous || f.Tag.Get("json") == "-" {
			return fmt.Errorf("field %s.%s would not be bound", t, f.Name)
		}
		if err := plain(f.Type, depth+1); err != nil {
			return err
		}
	}
	return nil
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// marshals looks at the pointer's methods, which include the type's own.
func marshals(t reflect.Type) bool {
	if t.Name() == "" {
		return false // only a named type has methods
	}
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}
