//! The units. Inches, pounds and their relatives are those of the international agreement of 1959, pints and gallons
//! the United States' unless they say otherwise.

use std::fmt;

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

impl fmt::Display for Kind {
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

/// A unit. A value in the base unit of the kind is `(value + offset) * factor`.
#[derive(Debug)]
pub struct Unit {
    pub kind: Kind,
    /// Case matters.
    pub symbol: &'static str,
    /// In the singular, the usual one first.
    pub names: &'static [&'static str],
    /// A decimal, or a fraction of two.
    pub factor: &'static str,
    pub offset: &'static str,
}

const fn unit(kind: Kind, symbol: &'static str, names: &'static [&'static str], factor: &'static str) -> Unit {
    Unit { kind, symbol, names, factor, offset: "0" }
}

const fn temperature(
    symbol: &'static str,
    names: &'static [&'static str],
    factor: &'static str,
    offset: &'static str,
) -> Unit {
    Unit { kind: Kind::Temperature, symbol, names, factor, offset }
}

/// Every unit; the base unit of each kind has the factor 1.
pub const UNITS: &[Unit] = &[
    unit(Kind::Length, "m", &["meter"], "1"),
    unit(Kind::Length, "km", &["kilometer"], "1000"),
    unit(Kind::Length, "cm", &["centimeter"], "0.01"),
    unit(Kind::Length, "mm", &["millimeter"], "0.001"),
    unit(Kind::Length, "µm", &["micrometer", "micron", "um"], "0.000001"),
    unit(Kind::Length, "nm", &["nanometer"], "0.000000001"),
    unit(Kind::Length, "mi", &["mile"], "1609.344"),
    unit(Kind::Length, "yd", &["yard"], "0.9144"),
    unit(Kind::Length, "ft", &["foot"], "0.3048"),
    unit(Kind::Length, "in", &["inch"], "0.0254"),
    unit(Kind::Length, "nmi", &["nautical mile"], "1852"),
    unit(Kind::Length, "au", &["astronomical unit"], "149597870700"),
    unit(Kind::Length, "ly", &["light year", "lightyear"], "9460730472580800"),
    unit(Kind::Mass, "kg", &["kilogram", "kilo"], "1"),
    unit(Kind::Mass, "g", &["gram"], "0.001"),
    unit(Kind::Mass, "mg", &["milligram"], "0.000001"),
    unit(Kind::Mass, "µg", &["microgram", "ug"], "0.000000001"),
    unit(Kind::Mass, "t", &["tonne", "metric ton"], "1000"),
    unit(Kind::Mass, "lb", &["pound"], "0.45359237"),
    unit(Kind::Mass, "oz", &["ounce"], "0.028349523125"),
    unit(Kind::Mass, "st", &["stone"], "6.35029318"),
    unit(Kind::Mass, "short ton", &["short ton", "us ton"], "907.18474"),
    unit(Kind::Mass, "long ton", &["long ton", "imperial ton", "uk ton"], "1016.0469088"),
    unit(Kind::Mass, "ct", &["carat"], "0.0002"),
    temperature("K", &["kelvin"], "1", "0"),
    temperature("°C", &["celsius", "centigrade"], "1", "273.15"),
    temperature("°F", &["fahrenheit"], "5/9", "459.67"),
    temperature("°R", &["rankine"], "5/9", "0"),
    unit(Kind::Volume, "L", &["liter"], "1"),
    unit(Kind::Volume, "dL", &["deciliter"], "0.1"),
    unit(Kind::Volume, "cL", &["centiliter"], "0.01"),
    unit(Kind::Volume, "mL", &["milliliter"], "0.001"),
    unit(Kind::Volume, "m³", &["cubic meter"], "1000"),
    unit(Kind::Volume, "cm³", &["cubic centimeter", "cc"], "0.001"),
    unit(Kind::Volume, "ft³", &["cubic foot"], "28.316846592"),
    unit(Kind::Volume, "in³", &["cubic inch"], "0.016387064"),
    unit(Kind::Volume, "gal", &["gallon", "us gallon"], "3.785411784"),
    unit(Kind::Volume, "qt", &["quart", "us quart"], "0.946352946"),
    unit(Kind::Volume, "pt", &["pint", "us pint"], "0.473176473"),
    unit(Kind::Volume, "cup", &["cup", "us cup"], "0.2365882365"),
    unit(Kind::Volume, "fl oz", &["fluid ounce", "us fluid ounce"], "0.0295735295625"),
    unit(Kind::Volume, "tbsp", &["tablespoon"], "0.01478676478125"),
    unit(Kind::Volume, "tsp", &["teaspoon"], "0.00492892159375"),
    unit(Kind::Volume, "imp gal", &["imperial gallon", "uk gallon"], "4.54609"),
    unit(Kind::Volume, "imp pt", &["imperial pint", "uk pint"], "0.56826125"),
    unit(Kind::Volume, "imp fl oz", &["imperial fluid ounce", "uk fluid ounce"], "0.0284130625"),
    unit(Kind::Area, "m²", &["square meter", "sqm"], "1"),
    unit(Kind::Area, "km²", &["square kilometer"], "1000000"),
    unit(Kind::Area, "cm²", &["square centimeter"], "0.0001"),
    unit(Kind::Area, "mm²", &["square millimeter"], "0.000001"),
    unit(Kind::Area, "ha", &["hectare"], "10000"),
    unit(Kind::Area, "ac", &["acre"], "4046.8564224"),
    unit(Kind::Area, "mi²", &["square mile"], "2589988.110336"),
    unit(Kind::Area, "yd²", &["square yard"], "0.83612736"),
    unit(Kind::Area, "ft²", &["square foot", "square ft", "sqft"], "0.09290304"),
    unit(Kind::Area, "in²", &["square inch"], "0.00064516"),
    unit(Kind::Speed, "m/s", &["meter per second", "mps"], "1"),
    unit(Kind::Speed, "km/h", &["kilometer per hour", "kph", "kmh", "kmph"], "5/18"),
    unit(Kind::Speed, "mph", &["mile per hour", "mi per h"], "0.44704"),
    unit(Kind::Speed, "kn", &["knot", "kt"], "463/900"),
    unit(Kind::Speed, "ft/s", &["foot per second", "fps"], "0.3048"),
    unit(Kind::Time, "s", &["second", "sec"], "1"),
    unit(Kind::Time, "ms", &["millisecond"], "0.001"),
    unit(Kind::Time, "µs", &["microsecond", "us"], "0.000001"),
    unit(Kind::Time, "ns", &["nanosecond"], "0.000000001"),
    unit(Kind::Time, "min", &["minute"], "60"),
    unit(Kind::Time, "h", &["hour", "hr"], "3600"),
    unit(Kind::Time, "d", &["day"], "86400"),
    unit(Kind::Time, "wk", &["week"], "604800"),
    // A month and a year have no fixed length; these are the means of the Gregorian calendar.
    unit(Kind::Time, "mo", &["month"], "2629746"),
    unit(Kind::Time, "yr", &["year"], "31556952"),
    unit(Kind::Data, "B", &["byte"], "1"),
    unit(Kind::Data, "kB", &["kilobyte"], "1000"),
    unit(Kind::Data, "MB", &["megabyte"], "1000000"),
    unit(Kind::Data, "GB", &["gigabyte"], "1000000000"),
    unit(Kind::Data, "TB", &["terabyte"], "1000000000000"),
    unit(Kind::Data, "PB", &["petabyte"], "1000000000000000"),
    unit(Kind::Data, "KiB", &["kibibyte"], "1024"),
    unit(Kind::Data, "MiB", &["mebibyte"], "1048576"),
    unit(Kind::Data, "GiB", &["gibibyte"], "1073741824"),
    unit(Kind::Data, "TiB", &["tebibyte"], "1099511627776"),
    unit(Kind::Data, "bit", &["bit"], "1/8"),
    unit(Kind::Data, "kb", &["kilobit", "kbit"], "125"),
    unit(Kind::Data, "Mb", &["megabit", "mbit"], "125000"),
    unit(Kind::Data, "Gb", &["gigabit", "gbit"], "125000000"),
    unit(Kind::Energy, "J", &["joule"], "1"),
    unit(Kind::Energy, "kJ", &["kilojoule"], "1000"),
    unit(Kind::Energy, "MJ", &["megajoule"], "1000000"),
    unit(Kind::Energy, "cal", &["calorie", "small calorie"], "4.184"),
    unit(Kind::Energy, "kcal", &["kilocalorie", "food calorie"], "4184"),
    unit(Kind::Energy, "Wh", &["watt hour"], "3600"),
    unit(Kind::Energy, "kWh", &["kilowatt hour"], "3600000"),
    unit(Kind::Energy, "MWh", &["megawatt hour"], "3600000000"),
    unit(Kind::Energy, "eV", &["electronvolt", "electron volt"], "0.0000000000000000001602176634"),
    unit(Kind::Energy, "BTU", &["british thermal unit"], "1055.05585262"),
    unit(Kind::Pressure, "Pa", &["pascal"], "1"),
    unit(Kind::Pressure, "hPa", &["hectopascal"], "100"),
    unit(Kind::Pressure, "kPa", &["kilopascal"], "1000"),
    unit(Kind::Pressure, "MPa", &["megapascal"], "1000000"),
    unit(Kind::Pressure, "bar", &["bar"], "100000"),
    unit(Kind::Pressure, "mbar", &["millibar"], "100"),
    unit(Kind::Pressure, "atm", &["atmosphere", "standard atmosphere"], "101325"),
    unit(Kind::Pressure, "psi", &["pound per square inch"], "4.4482216152605/0.00064516"),
    unit(Kind::Pressure, "mmHg", &["millimeter of mercury"], "133.322387415"),
    unit(Kind::Pressure, "Torr", &["torr"], "101325/760"),
];
