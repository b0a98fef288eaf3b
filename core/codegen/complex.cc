// Elementwise operations on complex numbers, made of real ones.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/element.h"
#include "core/codegen/elementary.h"
#include "core/jit/cpu.h"
#include "llvm/IR/Intrinsics.h"

namespace shoal {
namespace {

// The real functions that complex ones are made of. An error is kept and told at the end, so formulas stay
// readable.
class ComplexMath {
 public:
  explicit ComplexMath(LaneBuilder& lanes) : lanes_(lanes) {}
  absl::Status status;

  using V = llvm::Value*;
  V F(absl::string_view name, V x) { return Call(name, {x}); }
  V F(absl::string_view name, V x, V y) {
    lanes_.Unify(x, y);
    return Call(name, {x, y});
  }
  V Add(V x, V y) { return lanes_.FAdd(x, y); }
  V Sub(V x, V y) { return lanes_.FSub(x, y); }
  V Mul(V x, V y) { return lanes_.FMul(x, y); }
  V Div(V x, V y) { return lanes_.FDiv(x, y); }
  V Neg(V x) { return lanes_.b.CreateFNeg(x); }
  V Abs(V x) { return lanes_.Intrinsic(llvm::Intrinsic::fabs, x); }
  V Sqrt(V x) { return lanes_.Intrinsic(llvm::Intrinsic::sqrt, x); }
  V Max(V x, V y) { return lanes_.Intrinsic(llvm::Intrinsic::maxnum, x, y); }
  V Min(V x, V y) { return lanes_.Intrinsic(llvm::Intrinsic::minnum, x, y); }
  V CopySign(V x, V sign) { return lanes_.Intrinsic(llvm::Intrinsic::copysign, x, sign); }
  V C(V like, double value) { return lanes_.Const(like, value); }
  V Inf(V like) { return llvm::ConstantFP::getInfinity(like->getType()); }
  V Lt(V x, V y) { return lanes_.Compare(llvm::CmpInst::FCMP_OLT, x, y); }
  V Eq(V x, V y) { return lanes_.Compare(llvm::CmpInst::FCMP_OEQ, x, y); }
  V IsNaN(V x) { return lanes_.Compare(llvm::CmpInst::FCMP_UNO, x, x); }
  V Choose(V c, V yes, V no) { return lanes_.Select(c, yes, no); }
  V And(V x, V y) { return lanes_.Binary(llvm::Instruction::And, x, y); }
  V Or(V x, V y) { return lanes_.Binary(llvm::Instruction::Or, x, y); }

  // |z| without overflow: the bigger part times sqrt(1 + ratio^2).
  V Hypot(V re, V im) {
    V x = Abs(re), y = Abs(im);
    V big = Max(x, y), small = Min(x, y);
    V ratio = Choose(Eq(big, C(big, 0)), C(big, 0), Div(small, big));
    V value = Mul(big, Sqrt(Add(C(big, 1), Mul(ratio, ratio))));
    V infinite = Eq(big, Inf(big));
    V nan = Or(IsNaN(re), IsNaN(im));
    value = Choose(nan, Add(re, im), value);
    return Choose(Or(Eq(x, Inf(x)), Eq(y, Inf(y))), Inf(big), Choose(infinite, big, value));
  }

  // A number in two parts, the second far smaller than the first: twice the digits. Without the processor's
  // multiply-add the second parts are nearly nothing, and results as those of one part.
  struct Pair {
    V high, low;
  };
  V MulAdd(V x, V y, V z) {
    if (!ThisCpu().has_fma) return Add(Mul(x, y), z);
    lanes_.Unify(x, y);
    lanes_.Unify(x, z);
    lanes_.Unify(x, y);
    return lanes_.b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  }
  Pair Product(V x, V y) {
    V high = Mul(x, y);
    return {high, MulAdd(x, y, Neg(high))};
  }
  Pair Square(V x) { return Product(x, x); }
  Pair Times(Pair x, Pair y) {
    Pair p = Product(x.high, y.high);
    return {p.high, Add(p.low, Add(Mul(x.high, y.low), Mul(x.low, y.high)))};
  }
  // x + y for x and y of any sizes.
  Pair Sum(Pair x, Pair y) {
    V high = Add(x.high, y.high), part = Sub(high, x.high);
    V lost = Add(Sub(x.high, Sub(high, part)), Sub(y.high, part));
    return {high, Add(lost, Add(x.low, y.low))};
  }
  V Quotient(Pair x, Pair y) {
    V first = Div(x.high, y.high);
    V rest = Add(MulAdd(Neg(first), y.high, x.high), Sub(x.low, Mul(first, y.low)));
    return Add(first, Div(rest, y.high));
  }
  // sinh x for 0 <= x < 700: below 1 by its series, whose first term is kept apart.
  Pair Sinh(V x) {
    V square = Mul(x, x), sum = C(x, 1.0 / 121645100408832000.0);  // 1 / 19!
    for (double inverse :
         {355687428096000.0, 1307674368000.0, 6227020800.0, 39916800.0, 362880.0, 5040.0, 120.0, 6.0}) {
      sum = MulAdd(sum, square, C(x, 1 / inverse));
    }
    V e = F("exp", x), small = Lt(x, C(x, 1)), half = C(x, 0.5);
    V first = Choose(small, x, Mul(half, e));
    V second = Choose(small, Mul(Mul(x, square), sum), Neg(Div(half, e)));
    V high = Add(first, second);
    return {high, Sub(second, Sub(high, first))};
  }

  Element Plus(Element x, Element y) { return {Add(x.re, y.re), Add(x.im, y.im)}; }
  Element Minus(Element x, Element y) { return {Sub(x.re, y.re), Sub(x.im, y.im)}; }
  Element Negative(Element z) { return {Neg(z.re), Neg(z.im)}; }
  Element Multiply(Element x, Element y) {
    return {Sub(Mul(x.re, y.re), Mul(x.im, y.im)), Add(Mul(x.re, y.im), Mul(x.im, y.re))};
  }

  // Smith's: scaled by the bigger part of the divisor. A zero divisor divides by parts, as reals do.
  Element Divide(Element x, Element y) {
    V wide = Lt(Abs(y.im), Abs(y.re));
    V big = Choose(wide, y.re, y.im), small = Choose(wide, y.im, y.re);
    V ratio = Div(small, big);
    V scale = Add(big, Mul(small, ratio));
    V re = Choose(wide, Add(x.re, Mul(x.im, ratio)), Add(Mul(x.re, ratio), x.im));
    V im = Choose(wide, Sub(x.im, Mul(x.re, ratio)), Sub(Mul(x.im, ratio), x.re));
    Element smith = {Div(re, scale), Div(im, scale)};
    V zero = And(Eq(y.re, C(y.re, 0)), Eq(y.im, C(y.im, 0)));
    Element by_zero = {Div(x.re, Abs(y.re)), Div(x.im, Abs(y.re))};
    // A finite number over an infinite one is 0.
    V x_finite = IsFinite(x);
    V y_infinite = Or(Eq(Abs(y.re), Inf(y.re)), Eq(Abs(y.im), Inf(y.im)));
    V vanishes = And(x_finite, y_infinite);
    V none = C(smith.re, 0);
    return {Choose(vanishes, none, Choose(zero, by_zero.re, smith.re)),
            Choose(vanishes, none, Choose(zero, by_zero.im, smith.im))};
  }

  Element Exp(Element z) {
    V scale = F("exp", z.re);
    V real_line = Eq(z.im, C(z.im, 0));
    V im = Choose(real_line, z.im, Mul(scale, F("sin", z.im)));
    V re = Choose(real_line, scale, Mul(scale, F("cos", z.im)));
    // exp(-inf + i anything) is 0, also where the angle is not finite.
    V vanishes = Eq(scale, C(scale, 0));
    return {Choose(vanishes, scale, re), Choose(vanishes, C(im, 0), im)};
  }

  Element Log(Element z) { return {LogAbs(z), F("atan2", z.im, z.re)}; }

  // log|z|; near the unit circle by log1p of |z|^2 - 1, which keeps the digits.
  V LogAbs(Element z) {
    V x = Abs(z.re), y = Abs(z.im);
    V big = Max(x, y), small = Min(x, y);
    V near = And(Lt(C(big, 0.5), big), Lt(big, C(big, 2)));
    V from_one = Add(Mul(Sub(big, C(big, 1)), Add(big, C(big, 1))), Mul(small, small));
    V close = Mul(C(big, 0.5), F("log1p", from_one));
    return Choose(near, close, F("log", Hypot(z.re, z.im)));
  }

  // By a step of Newton's where the logarithm is not small, whose last place is then more than the
  // exponential's.
  Pair LogAbsPair(Element z) {
    V log = LogAbs(z), size = Abs(log);
    V rest = MulAdd(Hypot(z.re, z.im), F("exp", Neg(log)), C(log, -1));
    V wanted = And(Lt(C(size, 2), size),
                   Lt(size, C(size, z.re->getType()->getScalarType()->isFloatTy() ? 80 : 700)));
    return {log, Choose(wanted, rest, C(log, 0))};
  }

  // The root with a non-negative real part.
  Element Sqrt(Element z) {
    V x = Abs(z.re);
    V size = Hypot(z.re, z.im);
    // sqrt((|z| + |x|) / 2), halved first so that it cannot overflow.
    V root = Sqrt(Add(Mul(size, C(x, 0.5)), Mul(x, C(x, 0.5))));
    V other = Choose(Eq(root, C(root, 0)), C(root, 0), Div(Mul(Abs(z.im), C(x, 0.5)), root));
    V left = Lt(z.re, C(x, 0));
    V re = Choose(left, other, root);
    V im = Choose(left, root, other);
    V infinite = Eq(Abs(z.im), Inf(x));
    re = Choose(infinite, Inf(x), re);
    im = Choose(infinite, Inf(x), im);
    V both = And(Eq(x, Inf(x)), Lt(Abs(z.im), Inf(x)));
    im = Choose(both, Choose(left, Inf(x), C(x, 0)), im);
    re = Choose(both, Choose(left, C(x, 0), Inf(x)), re);
    return {re, CopySign(im, z.im)};
  }

  // exp(y log x); 0^0 = 1, 0^y = 0 for a y with a positive real part, and no number for any other, as in
  // NumPy. A logarithm and its product with y have twice the digits: what rounding took from them would be
  // multiplied by their size.
  Element Power(Element x, Element y) {
    Pair log = LogAbsPair(x), angle = {F("atan2", x.im, x.re), C(x.re, 0)};
    Pair turned = Times({y.im, C(y.im, 0)}, angle);
    Pair re = Sum(Times({y.re, C(y.re, 0)}, log), {Neg(turned.high), Neg(turned.low)});
    Pair im = Sum(Times({y.re, C(y.re, 0)}, angle), Times({y.im, C(y.im, 0)}, log));
    Element value = Exp({re.high, im.high});
    Element rest = Multiply(value, {re.low, im.low});
    // Where something is infinite there are no digits to add, and -0 and 0 would be 0.
    const auto with = [&](V part, V digits) {
      V some = And(Lt(C(digits, 0), Abs(digits)), Lt(Abs(digits), Inf(digits)));
      return Choose(some, Add(part, digits), part);
    };
    value = {with(value.re, rest.re), with(value.im, rest.im)};
    V base_zero = And(Eq(x.re, C(x.re, 0)), Eq(x.im, C(x.im, 0)));
    V exponent_zero = And(Eq(y.re, C(y.re, 0)), Eq(y.im, C(y.im, 0)));
    V nothing = Choose(Lt(C(y.re, 0), y.re), C(x.re, 0), Sub(Inf(x.re), Inf(x.re)));
    return {Choose(exponent_zero, C(x.re, 1), Choose(base_zero, nothing, value.re)),
            Choose(exponent_zero, C(x.re, 0), Choose(base_zero, nothing, value.im))};
  }

  // sinh and cosh of a real number, from one exponential.
  struct Hyperbolic {
    V sinh, cosh;
  };
  Hyperbolic SinhCosh(V x) { return {F("sinh", x), F("cosh", x)}; }

  Element Sin(Element z) {
    Hyperbolic h = SinhCosh(z.im);
    return {Mul(F("sin", z.re), h.cosh), Mul(F("cos", z.re), h.sinh)};
  }
  Element Cos(Element z) {
    Hyperbolic h = SinhCosh(z.im);
    return {Mul(F("cos", z.re), h.cosh), Neg(Mul(F("sin", z.re), h.sinh))};
  }
  // Kahan's: tanh(x + iy) = (b r s + i t) / (1 + b s^2), where t = tan y, b = 1 + t^2, s = sinh x and
  // r = cosh x. All but t and s has twice the digits, so what is left is their error and one rounding.
  Element Tanh(Element z) {
    V x = Abs(z.re), t = F("tan", z.im);
    Pair one = {C(x, 1), C(x, 0)};
    V limit = C(x, 22);  // from here on the real part is 1, and b s^2 may overflow
    V a = Choose(Lt(limit, x), limit, x);
    Pair s = Sinh(a), square = Times(s, s), b = Sum(one, Square(t)), u = Sum(one, square);
    V root = Sqrt(u.high);
    Pair r = {root, Div(Add(MulAdd(Neg(root), root, u.high), u.low), Add(root, root))};
    Pair divisor = Sum(one, Times(b, square));
    V re = Quotient(Times(Times(b, r), s), divisor), im = Quotient({t, C(t, 0)}, divisor);
    V decay = F("exp", Neg(x));
    V far = Mul(Mul(Mul(C(t, 4), Div(t, b.high)), decay), decay);
    return {CopySign(Choose(Lt(limit, x), one.high, re), z.re), CopySign(Choose(Lt(limit, x), far, im), t)};
  }
  // `less` if x comes before y, real parts first, else `other`; what is not a number wins.
  Element Extreme(Element x, Element y, Element less, Element other) {
    V before = Or(Lt(x.re, y.re), And(Eq(x.re, y.re), Lt(x.im, y.im)));
    V x_nan = Or(IsNaN(x.re), IsNaN(x.im)), y_nan = Or(IsNaN(y.re), IsNaN(y.im));
    auto part = [&](V less_part, V other_part, V x_part, V y_part) {
      return Choose(x_nan, x_part, Choose(y_nan, y_part, Choose(before, less_part, other_part)));
    };
    return {part(less.re, other.re, x.re, y.re), part(less.im, other.im, x.im, y.im)};
  }
  Element Greater(Element x, Element y) { return Extreme(x, y, y, x); }
  Element Lesser(Element x, Element y) { return Extreme(x, y, x, y); }
  Element Clamp(Element low, Element z, Element high) {
    Element raised = Greater(low, z);
    lanes_.Unify(raised, high);
    return Lesser(raised, high);
  }
  V IsFinite(Element z) { return And(Lt(Abs(z.re), Inf(z.re)), Lt(Abs(z.im), Inf(z.im))); }
  Element TimesI(Element z) { return {Neg(z.im), z.re}; }
  Element OverI(Element z) { return {z.im, Neg(z.re)}; }
  Element Reciprocal(Element z) { return Divide({C(z.re, 1), C(z.re, 0)}, z); }

  // -i log((x + i y) / sqrt(y^2 + x^2))
  Element Atan2(Element y, Element x) {
    Element square = Plus(Multiply(y, y), Multiply(x, x));
    return OverI(Log(Divide(Plus(x, TimesI(y)), Sqrt(square))));
  }
  Element Logistic(Element z) {
    Element e = Exp(Negative(z));
    return Reciprocal({Add(e.re, C(e.re, 1)), e.im});
  }
  // z / |z|; a zero stays itself.
  Element Sign(Element z) {
    V size = Hypot(z.re, z.im), zero = Eq(size, C(size, 0));
    return {Choose(zero, z.re, Div(z.re, size)), Choose(zero, z.im, Div(z.im, size))};
  }

  Element Expm1(Element z) {
    // e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y/2)
    V half = F("sin", Mul(z.im, C(z.im, 0.5)));
    V re = Sub(Mul(F("expm1", z.re), F("cos", z.im)), Mul(C(half, 2), Mul(half, half)));
    return {re, Mul(F("exp", z.re), F("sin", z.im))};
  }
  Element Log1p(Element z) {
    // |1 + z|^2 - 1 = x (2 + x) + y^2
    V square = Add(Mul(z.re, Add(C(z.re, 2), z.re)), Mul(z.im, z.im));
    V near = Lt(Abs(square), C(square, 0.5));
    V shifted = Add(z.re, C(z.re, 1));
    V re = Choose(near, Mul(C(square, 0.5), F("log1p", square)), F("log", Hypot(shifted, z.im)));
    return {re, F("atan2", z.im, shifted)};
  }

 private:
  V Call(absl::string_view name, absl::Span<V const> arguments) {
    absl::StatusOr<V> value = EmitElementary(lanes_, name, arguments);
    if (value.ok()) return *value;
    status.Update(value.status());
    return llvm::PoisonValue::get(arguments[0]->getType());
  }
  LaneBuilder& lanes_;
};

using Operands = absl::Span<const Element>;
using Row = Element (*)(ComplexMath&, Operands);
struct NamedRow {
  Opcode opcode;
  Row row;
};

// The first two operands have the same lanes.
constexpr NamedRow kRows[] = {
    {Opcode::kAbs, [](ComplexMath& m, Operands v) -> Element { return {m.Hypot(v[0].re, v[0].im)}; }},
    {Opcode::kAdd, [](ComplexMath& m, Operands v) { return m.Plus(v[0], v[1]); }},
    {Opcode::kAtan2, [](ComplexMath& m, Operands v) { return m.Atan2(v[0], v[1]); }},
    {Opcode::kCbrt,
     [](ComplexMath& m, Operands v) { return m.Power(v[0], {m.C(v[0].re, 1.0 / 3), m.C(v[0].re, 0)}); }},
    {Opcode::kClamp, [](ComplexMath& m, Operands v) { return m.Clamp(v[0], v[1], v[2]); }},
    {Opcode::kCos, [](ComplexMath& m, Operands v) { return m.Cos(v[0]); }},
    {Opcode::kDivide, [](ComplexMath& m, Operands v) { return m.Divide(v[0], v[1]); }},
    {Opcode::kExp, [](ComplexMath& m, Operands v) { return m.Exp(v[0]); }},
    {Opcode::kExpm1, [](ComplexMath& m, Operands v) { return m.Expm1(v[0]); }},
    {Opcode::kIsFinite, [](ComplexMath& m, Operands v) -> Element { return {m.IsFinite(v[0])}; }},
    {Opcode::kLog, [](ComplexMath& m, Operands v) { return m.Log(v[0]); }},
    {Opcode::kLog1p, [](ComplexMath& m, Operands v) { return m.Log1p(v[0]); }},
    {Opcode::kLogistic, [](ComplexMath& m, Operands v) { return m.Logistic(v[0]); }},
    {Opcode::kMaximum, [](ComplexMath& m, Operands v) { return m.Greater(v[0], v[1]); }},
    {Opcode::kMinimum, [](ComplexMath& m, Operands v) { return m.Lesser(v[0], v[1]); }},
    {Opcode::kMultiply, [](ComplexMath& m, Operands v) { return m.Multiply(v[0], v[1]); }},
    {Opcode::kNegate, [](ComplexMath& m, Operands v) { return m.Negative(v[0]); }},
    {Opcode::kPower, [](ComplexMath& m, Operands v) { return m.Power(v[0], v[1]); }},
    {Opcode::kRsqrt, [](ComplexMath& m, Operands v) { return m.Reciprocal(m.Sqrt(v[0])); }},
    {Opcode::kSign, [](ComplexMath& m, Operands v) { return m.Sign(v[0]); }},
    {Opcode::kSin, [](ComplexMath& m, Operands v) { return m.Sin(v[0]); }},
    {Opcode::kSqrt, [](ComplexMath& m, Operands v) { return m.Sqrt(v[0]); }},
    {Opcode::kSubtract, [](ComplexMath& m, Operands v) { return m.Minus(v[0], v[1]); }},
    {Opcode::kTan, [](ComplexMath& m, Operands v) { return m.OverI(m.Tanh(m.TimesI(v[0]))); }},
    {Opcode::kTanh, [](ComplexMath& m, Operands v) { return m.Tanh(v[0]); }},
};

}  // namespace

absl::StatusOr<Element> EmitComplexValue(LaneBuilder& lanes, const Instruction& op,
                                         absl::Span<const Element> operands) {
  const NamedRow* found = std::find_if(std::begin(kRows), std::end(kRows),
                                       [&](const NamedRow& row) { return row.opcode == op.opcode(); });
  if (found == std::end(kRows)) return NoEmitter(op);
  std::vector<Element> values(operands.begin(), operands.end());
  if (values.size() > 1) lanes.Unify(values[0], values[1]);
  ComplexMath math(lanes);
  const Element result = found->row(math, values);
  SHOAL_RETURN_IF_ERROR(math.status);
  return result;
}

}  // namespace shoal
