//! Delays between the attempts of one request.

use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::client::ClientSettings;

/// Retry state of one request, within the limits of [`ClientSettings`].
#[derive(Debug, Default)]
pub(super) struct RetryBackoff {
    retries: u32,
    total_delay: Duration,
}

impl RetryBackoff {
    /// Returns the delay before the next attempt; `None` when a limit of the settings is reached.
    ///
    /// The delay is what the provider asked for, plus a random part of a span that doubles with each retry, so that
    /// requests that failed together are not repeated together.
    pub fn next_delay(&mut self, settings: &ClientSettings, retry_after: Option<Duration>) -> Option<Duration> {
        if self.retries == settings.max_retries {
            return None;
        }
        // The exponent is limited, because a shift by more than the width of the type panics.
        let span = settings.initial_backoff.saturating_mul(1 << self.retries.min(16));
        let delay = retry_after.unwrap_or_default() + span.mul_f64(rand::random::<f64>());
        self.retries += 1;
        self.total_delay += delay;
        (self.total_delay <= settings.max_total_backoff).then_some(delay)
    }
}

/// Parses the wait that a provider asks for in `retry-after-ms`, or in `retry-after` in seconds. Dates are not
/// parsed: no model provider sends one.
pub(super) fn parse_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds =
        // The more exact one first, as OpenAI's own clients do.
        number("retry-after-ms").map(|milliseconds| milliseconds / 1_000.0).or_else(|| number("retry-after"))?;
    // Fails for negative numbers and NaN, which `parse` accepts.
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_delay_bound_and_stops_after_max_retries() {
        let settings = ClientSettings::default();
        let mut backoff = RetryBackoff::default();
        for bound in [500, 1_000, 2_000, 4_000] {
            let delay = backoff.next_delay(&settings, None).unwrap();
            assert!(delay <= Duration::from_millis(bound), "{delay:?}");
        }
        assert_eq!(backoff.next_delay(&settings, None), None);
    }

    #[test]
    fn respects_requested_delay_within_the_limit() {
        let settings = ClientSettings::default();
        let delay = RetryBackoff::default().next_delay(&settings, Some(Duration::from_secs(7))).unwrap();
        assert!(delay >= Duration::from_secs(7) && delay <= Duration::from_millis(7_500), "{delay:?}");
        assert_eq!(RetryBackoff::default().next_delay(&settings, Some(Duration::from_secs(61))), None);
    }

    #[test]
    fn parses_both_retry_after_headers() {
        let parse = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            parse_retry_after(&headers)
        };
        assert_eq!(parse("retry-after", "20"), Some(Duration::from_secs(20)));
        assert_eq!(parse("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(parse("retry-after-ms", "350"), Some(Duration::from_millis(350)));
        assert_eq!(parse("retry-after", "-1"), None);
        assert_eq!(parse("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }
}
