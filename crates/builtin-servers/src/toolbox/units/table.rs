//! The table of units. Inches, pounds and the like follow the international agreement of 1959. Pints and gallons are those
//! of the United States unless named otherwise.

use std::fmt;

/// A physical quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    Length,
    Mass,
    Temperature,
    Volume,
    Area,
    Speed,
    Time,
    Data,
    Energy,
    Pressure,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "length",
            Self::Mass => "mass",
            Self::Temperature => "temperature",
            Self::Volume => "volume",
            Self::Area => "area",
            Self::Speed => "speed",
            Self::Time => "time",
            Self::Data => "data",
            Self::Energy => "energy",
            Self::Pressure => "pressure",
        })
    }
}

/// A unit. A value in the base unit of its quantity is `(value + offset) * factor`.
#[derive(Debug)]
pub struct Unit {
    /// The quantity that it measures.
    pub quantity: Quantity,
    /// Symbol; its case matters.
    pub symbol: &'static str,
    /// Names in the singular, the most common first.
    pub names: &'static [&'static str],
    /// Factor to the base unit: a decimal, or a fraction of two.
    pub factor: &'static str,
    /// Offset that is added before multiplication.
    pub offset: &'static str,
}

const fn unit(quantity: Quantity, symbol: &'static str, names: &'static [&'static str], factor: &'static str) -> Unit {
    Unit { quantity, symbol, names, factor, offset: "0" }
}

const fn temperature(
    symbol: &'static str,
    names: &'static [&'static str],
    factor: &'static str,
    offset: &'static str,
) -> Unit {
    Unit { quantity: Quantity::Temperature, symbol, names, factor, offset }
}

/// Every unit; the base unit of each kind has the factor 1.
pub const UNITS: &[Unit] = &[
    unit(Quantity::Length, "m", &["meter"], "1"),
    unit(Quantity::Length, "km", &["kilometer"], "1000"),
    unit(Quantity::Length, "cm", &["centimeter"], "0.01"),
    unit(Quantity::Length, "mm", &["millimeter"], "0.001"),
    unit(Quantity::Length, "µm", &["micrometer", "micron", "um"], "0.000001"),
    unit(Quantity::Length, "nm", &["nanometer"], "0.000000001"),
    unit(Quantity::Length, "mi", &["mile"], "1609.344"),
    unit(Quantity::Length, "yd", &["yard"], "0.9144"),
    unit(Quantity::Length, "ft", &["foot"], "0.3048"),
    unit(Quantity::Length, "in", &["inch"], "0.0254"),
    unit(Quantity::Length, "nmi", &["nautical mile"], "1852"),
    unit(Quantity::Length, "au", &["astronomical unit"], "149597870700"),
    unit(Quantity::Length, "ly", &["light year", "lightyear"], "9460730472580800"),
    unit(Quantity::Mass, "kg", &["kilogram", "kilo"], "1"),
    unit(Quantity::Mass, "g", &["gram"], "0.001"),
    unit(Quantity::Mass, "mg", &["milligram"], "0.000001"),
    unit(Quantity::Mass, "µg", &["microgram", "ug"], "0.000000001"),
    unit(Quantity::Mass, "t", &["tonne", "metric ton"], "1000"),
    unit(Quantity::Mass, "lb", &["pound"], "0.45359237"),
    unit(Quantity::Mass, "oz", &["ounce"], "0.028349523125"),
    unit(Quantity::Mass, "st", &["stone"], "6.35029318"),
    unit(Quantity::Mass, "short ton", &["short ton", "us ton"], "907.18474"),
    unit(Quantity::Mass, "long ton", &["long ton", "imperial ton", "uk ton"], "1016.0469088"),
    unit(Quantity::Mass, "ct", &["carat"], "0.0002"),
    temperature("K", &["kelvin"], "1", "0"),
    temperature("°C", &["celsius", "centigrade"], "1", "273.15"),
    temperature("°F", &["fahrenheit"], "5/9", "459.67"),
    temperature("°R", &["rankine"], "5/9", "0"),
    unit(Quantity::Volume, "L", &["liter"], "1"),
    unit(Quantity::Volume, "dL", &["deciliter"], "0.1"),
    unit(Quantity::Volume, "cL", &["centiliter"], "0.01"),
    unit(Quantity::Volume, "mL", &["milliliter"], "0.001"),
    unit(Quantity::Volume, "m³", &["cubic meter"], "1000"),
    unit(Quantity::Volume, "cm³", &["cubic centimeter", "cc"], "0.001"),
    unit(Quantity::Volume, "ft³", &["cubic foot"], "28.316846592"),
    unit(Quantity::Volume, "in³", &["cubic inch"], "0.016387064"),
    unit(Quantity::Volume, "gal", &["gallon", "us gallon"], "3.785411784"),
    unit(Quantity::Volume, "qt", &["quart", "us quart"], "0.946352946"),
    unit(Quantity::Volume, "pt", &["pint", "us pint"], "0.473176473"),
    unit(Quantity::Volume, "cup", &["cup", "us cup"], "0.2365882365"),
    unit(Quantity::Volume, "fl oz", &["fluid ounce", "us fluid ounce"], "0.0295735295625"),
    unit(Quantity::Volume, "tbsp", &["tablespoon"], "0.01478676478125"),
    unit(Quantity::Volume, "tsp", &["teaspoon"], "0.00492892159375"),
    unit(Quantity::Volume, "imp gal", &["imperial gallon", "uk gallon"], "4.54609"),
    unit(Quantity::Volume, "imp pt", &["imperial pint", "uk pint"], "0.56826125"),
    unit(Quantity::Volume, "imp fl oz", &["imperial fluid ounce", "uk fluid ounce"], "0.0284130625"),
    unit(Quantity::Area, "m²", &["square meter", "sqm"], "1"),
    unit(Quantity::Area, "km²", &["square kilometer"], "1000000"),
    unit(Quantity::Area, "cm²", &["square centimeter"], "0.0001"),
    unit(Quantity::Area, "mm²", &["square millimeter"], "0.000001"),
    unit(Quantity::Area, "ha", &["hectare"], "10000"),
    unit(Quantity::Area, "ac", &["acre"], "4046.8564224"),
    unit(Quantity::Area, "mi²", &["square mile"], "2589988.110336"),
    unit(Quantity::Area, "yd²", &["square yard"], "0.83612736"),
    unit(Quantity::Area, "ft²", &["square foot", "square ft", "sqft"], "0.09290304"),
    unit(Quantity::Area, "in²", &["square inch"], "0.00064516"),
    unit(Quantity::Speed, "m/s", &["meter per second", "mps"], "1"),
    unit(Quantity::Speed, "km/h", &["kilometer per hour", "kph", "kmh", "kmph"], "5/18"),
    unit(Quantity::Speed, "mph", &["mile per hour", "mi per h"], "0.44704"),
    unit(Quantity::Speed, "kn", &["knot", "kt"], "463/900"),
    unit(Quantity::Speed, "ft/s", &["foot per second", "fps"], "0.3048"),
    unit(Quantity::Time, "s", &["second", "sec"], "1"),
    unit(Quantity::Time, "ms", &["millisecond"], "0.001"),
    unit(Quantity::Time, "µs", &["microsecond", "us"], "0.000001"),
    unit(Quantity::Time, "ns", &["nanosecond"], "0.000000001"),
    unit(Quantity::Time, "min", &["minute"], "60"),
    unit(Quantity::Time, "h", &["hour", "hr"], "3600"),
    unit(Quantity::Time, "d", &["day"], "86400"),
    unit(Quantity::Time, "wk", &["week"], "604800"),
    // A month and a year have no fixed length; these are the means of the Gregorian calendar.
    unit(Quantity::Time, "mo", &["month"], "2629746"),
    unit(Quantity::Time, "yr", &["year"], "31556952"),
    unit(Quantity::Data, "B", &["byte"], "1"),
    unit(Quantity::Data, "kB", &["kilobyte"], "1000"),
    unit(Quantity::Data, "MB", &["megabyte"], "1000000"),
    unit(Quantity::Data, "GB", &["gigabyte"], "1000000000"),
    unit(Quantity::Data, "TB", &["terabyte"], "1000000000000"),
    unit(Quantity::Data, "PB", &["petabyte"], "1000000000000000"),
    unit(Quantity::Data, "KiB", &["kibibyte"], "1024"),
    unit(Quantity::Data, "MiB", &["mebibyte"], "1048576"),
    unit(Quantity::Data, "GiB", &["gibibyte"], "1073741824"),
    unit(Quantity::Data, "TiB", &["tebibyte"], "1099511627776"),
    unit(Quantity::Data, "bit", &["bit"], "1/8"),
    unit(Quantity::Data, "kb", &["kilobit", "kbit"], "125"),
    unit(Quantity::Data, "Mb", &["megabit", "mbit"], "125000"),
    unit(Quantity::Data, "Gb", &["gigabit", "gbit"], "125000000"),
    unit(Quantity::Energy, "J", &["joule"], "1"),
    unit(Quantity::Energy, "kJ", &["kilojoule"], "1000"),
    unit(Quantity::Energy, "MJ", &["megajoule"], "1000000"),
    unit(Quantity::Energy, "cal", &["calorie", "small calorie"], "4.184"),
    unit(Quantity::Energy, "kcal", &["kilocalorie", "food calorie"], "4184"),
    unit(Quantity::Energy, "Wh", &["watt hour"], "3600"),
    unit(Quantity::Energy, "kWh", &["kilowatt hour"], "3600000"),
    unit(Quantity::Energy, "MWh", &["megawatt hour"], "3600000000"),
    unit(Quantity::Energy, "eV", &["electronvolt", "electron volt"], "0.0000000000000000001602176634"),
    unit(Quantity::Energy, "BTU", &["british thermal unit"], "1055.05585262"),
    unit(Quantity::Pressure, "Pa", &["pascal"], "1"),
    unit(Quantity::Pressure, "hPa", &["hectopascal"], "100"),
    unit(Quantity::Pressure, "kPa", &["kilopascal"], "1000"),
    unit(Quantity::Pressure, "MPa", &["megapascal"], "1000000"),
    unit(Quantity::Pressure, "bar", &["bar"], "100000"),
    unit(Quantity::Pressure, "mbar", &["millibar"], "100"),
    unit(Quantity::Pressure, "atm", &["atmosphere", "standard atmosphere"], "101325"),
    unit(Quantity::Pressure, "psi", &["pound per square inch"], "4.4482216152605/0.00064516"),
    unit(Quantity::Pressure, "mmHg", &["millimeter of mercury"], "133.322387415"),
    unit(Quantity::Pressure, "Torr", &["torr"], "101325/760"),
];
