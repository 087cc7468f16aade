//! Numbers that stay exact as long as they can: fractions of 128-bit integers, and floating point beyond those.

mod fraction;

use std::cmp::Ordering;
use std::fmt;

pub use fraction::Fraction;

/// Digits that floating point has to offer after a few operations.
const SIGNIFICANT: usize = 15;
/// Below this, a sine is a rounding error.
const NOISE: f64 = 1e-15;
/// Larger powers are never exact in 128 bits, save those of 0, 1 and -1.
const MAX_EXACT_POWER: i128 = 1024;

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// As it is.
    Exact(Fraction),
    /// Rounded; always finite.
    Rounded(f64),
}

/// Why there is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Undefined {
    /// Nothing times zero is anything else than zero.
    #[error("division by zero")]
    DivisionByZero,
    /// The root or logarithm of what has none among the real numbers.
    #[error("{0}")]
    NotReal(&'static str),
    /// Beyond floating point.
    #[error("the result is too large")]
    TooLarge,
}

impl From<i128> for Number {
    fn from(integer: i128) -> Self {
        Fraction::new(integer, 1).map_or(Self::Rounded(integer as f64), Self::Exact)
    }
}

impl Number {
    /// Reads decimal digits, with a point and an exponent if there is one; no sign. `None` when it is not that.
    pub fn from_decimal(text: &str) -> Option<Self> {
        if let Some(fraction) = Fraction::from_decimal(text) {
            return Some(Self::Exact(fraction));
        }
        text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Self::Rounded)
    }

    /// Of a floating point result.
    pub fn rounded(value: f64) -> Result<Self, Undefined> {
        if value.is_finite() { Ok(Self::Rounded(value)) } else { Err(Undefined::TooLarge) }
    }

    /// As near as floating point comes.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Exact(fraction) => fraction.to_f64(),
            Self::Rounded(value) => value,
        }
    }

    /// Whether what `Display` writes is the number itself.
    pub fn is_shown_exactly(self) -> bool {
        matches!(self, Self::Exact(fraction) if fraction.to_decimal().is_some())
    }

    /// `self + other`.
    pub fn plus(self, other: Self) -> Result<Self, Undefined> {
        self.either(other, Fraction::plus, |a, b| a + b)
    }

    /// `self - other`.
    pub fn minus(self, other: Self) -> Result<Self, Undefined> {
        self.plus(other.negated())
    }

    /// `self * other`.
    pub fn times(self, other: Self) -> Result<Self, Undefined> {
        self.either(other, Fraction::times, |a, b| a * b)
    }

    /// `self / other`.
    pub fn over(self, other: Self) -> Result<Self, Undefined> {
        if other.is_zero() {
            return Err(Undefined::DivisionByZero);
        }
        self.either(other, |a, b| a.times(b.inverted()?), |a, b| a / b)
    }

    /// What is left of `self` after dividing by `other`, with the sign of `other`.
    pub fn remainder(self, other: Self) -> Result<Self, Undefined> {
        let whole = self.over(other)?.floor();
        self.minus(other.times(whole)?)
    }

    /// `self` to the power of `exponent`.
    pub fn power(self, exponent: Self) -> Result<Self, Undefined> {
        if self.is_zero() && exponent.is_negative() {
            return Err(Undefined::DivisionByZero);
        }
        if let (Self::Exact(base), Self::Exact(by)) = (self, exponent)
            && let Some(by) = by.as_integer().filter(|by| by.abs() <= MAX_EXACT_POWER)
            && let Some(result) = base.power(by)
        {
            return Ok(Self::Exact(result));
        }
        let result = self.to_f64().powf(exponent.to_f64());
        if result.is_nan() {
            return Err(Undefined::NotReal("a negative number has no such power among the real numbers"));
        }
        Self::rounded(result)
    }

    /// The root that is not negative.
    pub fn square_root(self) -> Result<Self, Undefined> {
        if self.is_negative() {
            return Err(Undefined::NotReal("a negative number has no square root among the real numbers"));
        }
        match self {
            Self::Exact(fraction) if let Some(root) = fraction.square_root() => Ok(Self::Exact(root)),
            _ => Self::rounded(self.to_f64().sqrt()),
        }
    }

    /// The sine of an angle in radians.
    pub fn sine(self) -> Result<Self, Undefined> {
        Self::rounded(without_noise(self.to_f64().sin()))
    }

    /// The cosine of an angle in radians.
    pub fn cosine(self) -> Result<Self, Undefined> {
        Self::rounded(without_noise(self.to_f64().cos()))
    }

    /// The tangent of an angle in radians.
    pub fn tangent(self) -> Result<Self, Undefined> {
        self.sine()?.over(self.cosine()?)
    }

    /// The logarithm, as `log` computes it.
    pub fn logarithm(self, log: fn(f64) -> f64) -> Result<Self, Undefined> {
        if self.is_zero() || self.is_negative() {
            return Err(Undefined::NotReal("only numbers above zero have a logarithm"));
        }
        Self::rounded(log(self.to_f64()))
    }

    /// With the other sign.
    pub fn negated(self) -> Self {
        match self {
            Self::Exact(fraction) => Self::Exact(fraction.negated()),
            Self::Rounded(value) => Self::Rounded(-value),
        }
    }

    /// Without its sign.
    pub fn magnitude(self) -> Self {
        if self.is_negative() { self.negated() } else { self }
    }

    /// The next integer below, or itself.
    pub fn floor(self) -> Self {
        match self {
            Self::Exact(fraction) => Self::from(fraction.floor()),
            Self::Rounded(value) => Self::Rounded(value.floor()),
        }
    }

    /// The next integer above, or itself.
    pub fn ceiling(self) -> Self {
        self.negated().floor().negated()
    }

    /// The nearest number with that many digits after the point (before it, when negative); a half goes away from zero.
    pub fn round(self, digits: i32) -> Result<Self, Undefined> {
        let scale = Self::from(10).power(Self::from(i128::from(digits)))?;
        let half = Self::from(1).over(Self::from(2))?;
        let rounded = self.magnitude().times(scale)?.plus(half)?.floor().over(scale)?;
        Ok(if self.is_negative() { rounded.negated() } else { rounded })
    }

    /// Which of two is greater.
    pub fn compare(self, other: Self) -> Ordering {
        match self.minus(other) {
            Ok(difference) if difference.is_zero() => Ordering::Equal,
            Ok(difference) if difference.is_negative() => Ordering::Less,
            Ok(_) => Ordering::Greater,
            Err(_) => self.to_f64().total_cmp(&other.to_f64()),
        }
    }

    /// The integer that it is, if it is one.
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

    fn either(
        self,
        other: Self,
        exact: impl Fn(Fraction, Fraction) -> Option<Fraction>,
        rounded: impl Fn(f64, f64) -> f64,
    ) -> Result<Self, Undefined> {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other)
            && let Some(result) = exact(a, b)
        {
            return Ok(Self::Exact(result));
        }
        Self::rounded(rounded(self.to_f64(), other.to_f64()))
    }
}

fn without_noise(value: f64) -> f64 {
    if value.abs() < NOISE { 0.0 } else { value }
}

impl fmt::Display for Number {
    /// All digits if there is an end to them, otherwise 15 significant ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Exact(fraction) = self
            && let Some(decimal) = fraction.to_decimal()
        {
            return f.write_str(&decimal);
        }
        let short = format!("{:.*e}", SIGNIFICANT - 1, self.to_f64());
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
