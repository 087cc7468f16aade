//! Numbers that are exact fractions of 128-bit integers where possible, and floating point otherwise.

mod fraction;

use std::cmp::Ordering;
use std::fmt;

pub use fraction::Fraction;

/// Significant digits that are shown of a rounded number: as many as are reliable after a few operations.
const SIGNIFICANT_DIGITS: usize = 15;
/// Magnitude below which a sine or cosine is a rounding error of zero.
const TRIGONOMETRIC_NOISE: f64 = 1e-15;
/// Maximum exponent that is tried exactly. Larger powers do not fit in 128 bits, except those of 0, 1 and -1.
const MAX_EXACT_POWER: i128 = 1024;

/// An exact or rounded number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An exact value.
    Exact(Fraction),
    /// A rounded value; always finite.
    Rounded(f64),
}

/// Error of an operation without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ArithmeticError {
    /// The divisor is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// The result is not a real number.
    #[error("{0}")]
    NotReal(&'static str),
    /// The result exceeds floating point.
    #[error("the result is too large")]
    TooLarge,
}

impl From<i128> for Number {
    fn from(integer: i128) -> Self {
        Fraction::new(integer, 1).map_or(Self::Rounded(integer as f64), Self::Exact)
    }
}

impl Number {
    /// Parses decimal digits with an optional point and exponent, but no sign. Returns `None` for anything else.
    pub fn from_decimal(text: &str) -> Option<Self> {
        if let Some(fraction) = Fraction::from_decimal(text) {
            return Some(Self::Exact(fraction));
        }
        text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Self::Rounded)
    }

    /// Wraps a floating point result.
    pub fn rounded(value: f64) -> Result<Self, ArithmeticError> {
        if value.is_finite() { Ok(Self::Rounded(value)) } else { Err(ArithmeticError::TooLarge) }
    }

    /// Returns the nearest floating point number.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Exact(fraction) => fraction.to_f64(),
            Self::Rounded(value) => value,
        }
    }

    /// Returns whether `Display` writes the exact value.
    pub fn is_shown_exactly(self) -> bool {
        matches!(self, Self::Exact(fraction) if fraction.to_decimal().is_some())
    }

    /// Returns `self + other`.
    pub fn plus(self, other: Self) -> Result<Self, ArithmeticError> {
        self.compute(other, Fraction::plus, |a, b| a + b)
    }

    /// Returns `self - other`.
    pub fn minus(self, other: Self) -> Result<Self, ArithmeticError> {
        self.plus(other.negated())
    }

    /// Returns `self * other`.
    pub fn times(self, other: Self) -> Result<Self, ArithmeticError> {
        self.compute(other, Fraction::times, |a, b| a * b)
    }

    /// Returns `self / other`.
    pub fn over(self, other: Self) -> Result<Self, ArithmeticError> {
        if other.is_zero() {
            return Err(ArithmeticError::DivisionByZero);
        }
        self.compute(other, |a, b| a.times(b.inverted()?), |a, b| a / b)
    }

    /// Returns the remainder of `self / other`, with the sign of `other`.
    pub fn remainder(self, other: Self) -> Result<Self, ArithmeticError> {
        // Floored division, as in Python; Rust's `%` would have the sign of the dividend.
        let whole = self.over(other)?.floor();
        self.minus(other.times(whole)?)
    }

    /// Returns `self` to the power of `exponent`.
    pub fn power(self, exponent: Self) -> Result<Self, ArithmeticError> {
        if self.is_zero() && exponent.is_negative() {
            return Err(ArithmeticError::DivisionByZero);
        }
        if let (Self::Exact(base), Self::Exact(by)) = (self, exponent)
            // Bounded, because checking a huge exponent exactly would take long before it overflows.
            && let Some(by) = by.as_integer().filter(|by| by.abs() <= MAX_EXACT_POWER)
            && let Some(result) = base.power(by)
        {
            return Ok(Self::Exact(result));
        }
        let result = self.to_f64().powf(exponent.to_f64());
        if result.is_nan() {
            return Err(ArithmeticError::NotReal("a negative number has no such power among the real numbers"));
        }
        Self::rounded(result)
    }

    /// Returns the square root that is not negative.
    pub fn square_root(self) -> Result<Self, ArithmeticError> {
        if self.is_negative() {
            return Err(ArithmeticError::NotReal("a negative number has no square root among the real numbers"));
        }
        match self {
            Self::Exact(fraction) if let Some(root) = fraction.square_root() => Ok(Self::Exact(root)),
            _ => Self::rounded(self.to_f64().sqrt()),
        }
    }

    /// Returns the sine of an angle in radians.
    pub fn sine(self) -> Result<Self, ArithmeticError> {
        Self::rounded(without_noise(self.to_f64().sin()))
    }

    /// Returns the cosine of an angle in radians.
    pub fn cosine(self) -> Result<Self, ArithmeticError> {
        Self::rounded(without_noise(self.to_f64().cos()))
    }

    /// Returns the tangent of an angle in radians.
    pub fn tangent(self) -> Result<Self, ArithmeticError> {
        self.sine()?.over(self.cosine()?)
    }

    /// Returns the logarithm that `log` computes.
    pub fn logarithm(self, log: fn(f64) -> f64) -> Result<Self, ArithmeticError> {
        if self.is_zero() || self.is_negative() {
            return Err(ArithmeticError::NotReal("only numbers above zero have a logarithm"));
        }
        Self::rounded(log(self.to_f64()))
    }

    /// Returns the number with the opposite sign.
    pub fn negated(self) -> Self {
        match self {
            Self::Exact(fraction) => Self::Exact(fraction.negated()),
            Self::Rounded(value) => Self::Rounded(-value),
        }
    }

    /// Returns the absolute value.
    pub fn magnitude(self) -> Self {
        if self.is_negative() { self.negated() } else { self }
    }

    /// Rounds down to an integer.
    pub fn floor(self) -> Self {
        match self {
            Self::Exact(fraction) => Self::from(fraction.floor()),
            Self::Rounded(value) => Self::Rounded(value.floor()),
        }
    }

    /// Rounds up to an integer.
    pub fn ceiling(self) -> Self {
        self.negated().floor().negated()
    }

    /// Rounds to a number of digits after the point, or before it if negative. Halves round away from zero.
    pub fn round(self, digits: i32) -> Result<Self, ArithmeticError> {
        let scale = Self::from(10).power(Self::from(i128::from(digits)))?;
        let half = Self::from(1).over(Self::from(2))?;
        let rounded = self.magnitude().times(scale)?.plus(half)?.floor().over(scale)?;
        Ok(if self.is_negative() { rounded.negated() } else { rounded })
    }

    /// Compares two numbers.
    pub fn compare(self, other: Self) -> Ordering {
        // The difference of exact numbers is exact; as floating point, close ones would be equal.
        match self.minus(other) {
            Ok(difference) if difference.is_zero() => Ordering::Equal,
            Ok(difference) if difference.is_negative() => Ordering::Less,
            Ok(_) => Ordering::Greater,
            Err(_) => self.to_f64().total_cmp(&other.to_f64()),
        }
    }

    /// Returns the value if it is an exact integer.
    pub fn as_integer(self) -> Option<i128> {
        match self {
            Self::Exact(fraction) => fraction.as_integer(),
            Self::Rounded(_) => None,
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Exact(fraction) => fraction.is_zero(),
            Self::Rounded(value) => value == 0.0,
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Self::Exact(fraction) => fraction.is_negative(),
            Self::Rounded(value) => value < 0.0,
        }
    }

    /// Computes with fractions, or with floating point if a fraction does not fit.
    fn compute(
        self,
        other: Self,
        exact: impl Fn(Fraction, Fraction) -> Option<Fraction>,
        rounded: impl Fn(f64, f64) -> f64,
    ) -> Result<Self, ArithmeticError> {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other)
            && let Some(result) = exact(a, b)
        {
            return Ok(Self::Exact(result));
        }
        Self::rounded(rounded(self.to_f64(), other.to_f64()))
    }
}

/// Replaces rounding errors of zero by zero.
fn without_noise(value: f64) -> f64 {
    if value.abs() < TRIGONOMETRIC_NOISE { 0.0 } else { value }
}

impl fmt::Display for Number {
    /// Writes all digits if they are finite, otherwise 15 significant ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Exact(fraction) = self
            && let Some(decimal) = fraction.to_decimal()
        {
            return f.write_str(&decimal);
        }
        let short = format!("{:.*e}", SIGNIFICANT_DIGITS - 1, self.to_f64());
        // Parsed again, so that `Display` drops the zeros at the end.
        let value: f64 = short.parse().unwrap_or_else(|_| self.to_f64());
        if value == 0.0 {
            f.write_str("0")
        } else if (1e-7..1e21).contains(&value.abs()) {
            write!(f, "{value}")
        } else {
            write!(f, "{value:e}")
        }
    }
}

#[cfg(test)]
mod tests;
