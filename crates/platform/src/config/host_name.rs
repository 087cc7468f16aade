//! Host names in settings.

use std::str::FromStr;

use url::Host;

/// Name of a host, in lower case and without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// Returns the name, such as `chat.example.com`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Error of a text that is not a [host name](HostName).
#[derive(Debug, thiserror::Error)]
#[error("not a host name")]
pub struct InvalidHostName;

impl FromStr for HostName {
    type Err = InvalidHostName;

    fn from_str(text: &str) -> Result<Self, InvalidHostName> {
        match Host::parse(text).map_err(|_| InvalidHostName)? {
            // A pattern, a URL or a port would never match a `Host` header, so the operator learns of it at the start.
            Host::Domain(name) if !name.contains(['*', '/', ':']) => Ok(Self(name)),
            // IP addresses are always accepted as host and need no setting.
            _ => Err(InvalidHostName),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_without_port_or_path() {
        assert_eq!("Chat.Example".parse::<HostName>().unwrap().as_str(), "chat.example");
        for text in ["", "chat.example:80", "https://chat.example", "chat.example/x", "*.example", "10.0.0.1", "[::1]"]
        {
            assert!(text.parse::<HostName>().is_err(), "{text}");
        }
    }
}
