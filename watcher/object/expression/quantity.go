package expression

import (
	"reflect"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
)

// opaque implements ref.Val for values that CEL only passes to functions.
type opaque struct{}

func (opaque) ConvertToNative(reflect.Type) (any, error) { return nil, errWrongType }
func (opaque) ConvertToType(ref.Type) ref.Val            { return types.WrapErr(errWrongType) }
func (opaque) Equal(ref.Val) ref.Val                     { return types.False }
func (opaque) Type() ref.Type                            { return types.DynType }
func (opaque) Value() any                                { return nil }

// quantityType returns the CEL type of quantities. It has the same name and functions as in Kubernetes.
var quantityType = sync.OnceValue(func() *types.Type { return types.NewOpaqueType("kubernetes.Quantity") })

// quantity is a resource.Quantity as a CEL value.
type quantity struct {
	opaque
	*resource.Quantity
}

func (q quantity) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case quantityType():
		return q
	case types.TypeType:
		return quantityType()
	}
	return types.WrapErr(errWrongType)
}

// Equal implements ref.Val: 1 and 1000m are equal.
func (q quantity) Equal(other ref.Val) ref.Val {
	o, ok := other.(quantity)
	return types.Bool(ok && q.Cmp(*o.Quantity) == 0)
}

func (q quantity) Type() ref.Type { return quantityType() }
func (q quantity) Value() any     { return q.Quantity }

// maxQuantity is the maximum length of a quantity. The cost of parsing grows with the length.
const maxQuantity = 100

func parseQuantity(v ref.Val) (ref.Val, error) {
	text, ok := v.(types.String)
	if !ok {
		return nil, errWrongType
	}
	if len(text) > maxQuantity {
		return nil, resource.ErrFormatWrong
	}
	q, err := resource.ParseQuantity(string(text))
	return quantity{Quantity: &q}, err
}

func quantityOptions() []cel.EnvOption {
	q := quantityType()
	return []cel.EnvOption{
		cel.Function("quantity", cel.Overload("string_to_quantity", []*cel.Type{cel.StringType}, q, unary(parseQuantity))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", []*cel.Type{cel.StringType}, cel.BoolType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			_, err := parseQuantity(v)
			return types.Bool(err == nil)
		}))),
		quantityMethod("isGreaterThan", "quantity_is_greater_than", q, cel.BoolType, func(q, o quantity) ref.Val { return types.Bool(q.compare(o) > 0) }),
		quantityMethod("isLessThan", "quantity_is_less_than", q, cel.BoolType, func(q, o quantity) ref.Val { return types.Bool(q.compare(o) < 0) }),
		quantityMethod("compareTo", "quantity_compare_to", q, cel.IntType, func(q, o quantity) ref.Val { return types.Int(q.compare(o)) }),
		quantityMethod("add", "quantity_add", q, q, quantity.add),
		quantityMethod("add", "quantity_add_int", cel.IntType, q, quantity.add),
		quantityMethod("sub", "quantity_sub", q, q, quantity.sub),
		quantityMethod("sub", "quantity_sub_int", cel.IntType, q, quantity.sub),
		quantityProperty("sign", "quantity_sign", cel.IntType, func(q quantity) ref.Val { return types.Int(q.Sign()) }),
		quantityProperty("isInteger", "quantity_is_integer", cel.BoolType, func(q quantity) ref.Val {
			_, exact := q.AsInt64()
			return types.Bool(exact)
		}),
		quantityProperty("asInteger", "quantity_get_int", cel.IntType, quantity.asInteger),
		quantityProperty("asApproximateFloat", "quantity_get_float", cel.DoubleType, func(q quantity) ref.Val { return types.Double(q.AsApproximateFloat64()) }),
	}
}

// quantityMethod declares a method of quantities whose argument is a quantity or an int.
func quantityMethod(name, id string, arg, result *cel.Type, f func(q, o quantity) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(id, []*cel.Type{quantityType(), arg}, result, cel.BinaryBinding(func(this, other ref.Val) ref.Val {
		if n, ok := other.(types.Int); ok {
			other = quantity{Quantity: resource.NewQuantity(int64(n), resource.DecimalSI)}
		}
		return f(this.(quantity), other.(quantity))
	})))
}

// quantityProperty declares a method of quantities without arguments.
func quantityProperty(name, id string, result *cel.Type, f func(q quantity) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(id, []*cel.Type{quantityType()}, result, cel.UnaryBinding(func(this ref.Val) ref.Val {
		return f(this.(quantity))
	})))
}

func (q quantity) compare(o quantity) int { return q.Cmp(*o.Quantity) }

func (q quantity) add(o quantity) ref.Val {
	sum := q.DeepCopy()
	sum.Add(*o.Quantity)
	return quantity{Quantity: &sum}
}

func (q quantity) sub(o quantity) ref.Val {
	difference := q.DeepCopy()
	difference.Sub(*o.Quantity)
	return quantity{Quantity: &difference}
}

func (q quantity) asInteger() ref.Val {
	if n, exact := q.AsInt64(); exact {
		return types.Int(n)
	}
	return types.NewErrFromString("cannot convert value to integer")
}
