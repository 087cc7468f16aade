//! How long to wait before the next try.

use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::client::Settings;

/// The waits of one request.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    tries: u32,
    waited: Duration,
}

impl Backoff {
    /// The wait before the next try; `None` when there have been enough or it would take too long. A random part of
    /// a span that doubles spreads out those who failed together; what the provider asks for comes before it.
    pub fn next(&mut self, settings: &Settings, asked: Option<Duration>) -> Option<Duration> {
        if self.tries == settings.retries {
            return None;
        }
        let span = settings.backoff.saturating_mul(1 << self.tries.min(16));
        let wait = asked.unwrap_or_default() + span.mul_f64(rand::random::<f64>());
        self.tries += 1;
        self.waited += wait;
        (self.waited <= settings.patience).then_some(wait)
    }
}

/// How long the provider asks to wait, by `retry-after-ms` or `retry-after` in seconds. A date is not read: no
/// provider of models sends one.
pub(super) fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|milliseconds| milliseconds / 1_000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_stay_under_a_doubling_bound_and_end() {
        let settings = Settings::default();
        let mut backoff = Backoff::default();
        for bound in [500, 1_000, 2_000, 4_000] {
            let wait = backoff.next(&settings, None).unwrap();
            assert!(wait <= Duration::from_millis(bound), "{wait:?}");
        }
        assert_eq!(backoff.next(&settings, None), None);
    }

    #[test]
    fn a_wait_that_is_asked_for_is_kept_or_given_up() {
        let settings = Settings::default();
        let wait = Backoff::default().next(&settings, Some(Duration::from_secs(7))).unwrap();
        assert!(wait >= Duration::from_secs(7) && wait <= Duration::from_millis(7_500), "{wait:?}");
        assert_eq!(Backoff::default().next(&settings, Some(Duration::from_secs(61))), None);
    }

    #[test]
    fn both_headers_are_read() {
        let asked = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            asked_wait(&headers)
        };
        assert_eq!(asked("retry-after", "20"), Some(Duration::from_secs(20)));
        assert_eq!(asked("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(asked("retry-after-ms", "350"), Some(Duration::from_millis(350)));
        assert_eq!(asked("retry-after", "-1"), None);
        assert_eq!(asked("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }
}
