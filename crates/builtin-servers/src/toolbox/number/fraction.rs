//! Exact fractions. Every operation returns `None` if its result does not fit.

/// Maximum number of digits after the point. More would help no reader.
const MAX_SCALE: u32 = 30;
/// Maximum power of ten that fits in 128 bits.
const MAX_EXPONENT: u32 = 38;

/// A fraction in lowest terms with a positive denominator. Neither part is the smallest integer, which has no opposite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fraction {
    numerator: i128,
    denominator: i128,
}

impl Fraction {
    /// Returns `numerator / denominator`, or `None` if the denominator is zero.
    pub fn new(numerator: i128, denominator: i128) -> Option<Self> {
        if denominator == 0 || numerator == i128::MIN || denominator == i128::MIN {
            return None;
        }
        // The sign moves to the numerator, which makes equal fractions equal in both parts.
        let divisor = gcd(numerator, denominator) * denominator.signum();
        Some(Self { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// Parses digits with an optional point and exponent, such as `12`, `.5` or `1e-3`, but no sign.
    pub fn from_decimal(text: &str) -> Option<Self> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{part}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mantissa: i128 = all.parse().ok()?;
        let exponent = exponent.checked_sub(i32::try_from(part.len()).ok()?)?;
        let scale = 10_i128.checked_pow(Some(exponent.unsigned_abs()).filter(|by| *by <= MAX_EXPONENT)?)?;
        if exponent < 0 { Self::new(mantissa, scale) } else { Self::new(mantissa.checked_mul(scale)?, 1) }
    }

    /// Returns `self + other`.
    pub fn plus(self, other: Self) -> Option<Self> {
        // With the least common multiple as denominator, the products overflow later.
        let shared = gcd(self.denominator, other.denominator);
        let left = self.numerator.checked_mul(other.denominator / shared)?;
        let right = other.numerator.checked_mul(self.denominator / shared)?;
        Self::new(left.checked_add(right)?, (self.denominator / shared).checked_mul(other.denominator)?)
    }

    /// Returns `self * other`.
    pub fn times(self, other: Self) -> Option<Self> {
        // Cancelling first keeps the products small.
        let left = Self::new(self.numerator, other.denominator)?;
        let right = Self::new(other.numerator, self.denominator)?;
        Self::new(left.numerator.checked_mul(right.numerator)?, left.denominator.checked_mul(right.denominator)?)
    }

    /// Returns `1 / self`.
    pub fn inverted(self) -> Option<Self> {
        Self::new(self.denominator, self.numerator)
    }

    /// Returns `-self`.
    pub fn negated(self) -> Self {
        Self { numerator: -self.numerator, ..self }
    }

    /// Returns `self` to an integer power.
    pub fn power(self, exponent: i128) -> Option<Self> {
        let by = u32::try_from(exponent.unsigned_abs()).ok()?;
        let base = if exponent < 0 { self.inverted()? } else { self };
        Self::new(base.numerator.checked_pow(by)?, base.denominator.checked_pow(by)?)
    }

    /// Returns the square root if it is a fraction.
    pub fn square_root(self) -> Option<Self> {
        let root = |square: i128| {
            let root = square.isqrt();
            (root * root == square).then_some(root)
        };
        if self.is_negative() { None } else { Self::new(root(self.numerator)?, root(self.denominator)?) }
    }

    /// Rounds down to an integer.
    pub fn floor(self) -> i128 {
        self.numerator.div_euclid(self.denominator)
    }

    /// Returns the value if it is an integer.
    pub fn as_integer(self) -> Option<i128> {
        (self.denominator == 1).then_some(self.numerator)
    }

    pub fn is_zero(self) -> bool {
        self.numerator == 0
    }

    pub fn is_negative(self) -> bool {
        self.numerator < 0
    }

    /// Returns the nearest floating point number.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Returns all digits, if there are at most [`MAX_SCALE`] after the point.
    pub fn to_decimal(self) -> Option<String> {
        let magnitude = self.numerator.unsigned_abs();
        let denominator = self.denominator.unsigned_abs();
        let mut text = format!("{}{}", if self.is_negative() { "-" } else { "" }, magnitude / denominator);
        let mut rest = magnitude % denominator;
        for place in 0..MAX_SCALE {
            if rest == 0 {
                break;
            }
            if place == 0 {
                text.push('.');
            }
            rest = rest.checked_mul(10)?;
            text.push(char::from(b'0' + u8::try_from(rest / denominator).ok()?));
            rest %= denominator;
        }
        (rest == 0).then_some(text)
    }
}

/// Returns the greatest common divisor, at least 1. Neither argument may be the smallest integer.
fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
