//! Quotas of users and limits of requests.

use storage::Storage;
use storage::quotas::{Amount, QuotaException, QuotaExceptions, QuotaTimes, QuotaUse};
use storage::rate_limits::{AttemptKeys, AttemptRecord, AttemptRecords, RateQuota};

use crate::migrations::{GRACE, at};

pub async fn check(storage: &Storage) {
    check_quotas(storage).await;
    check_rate_limits(storage).await;
}

async fn check_quotas(storage: &Storage) {
    let limit = |limit| Some(QuotaException::Limit(limit));
    let exceptions = [limit(1), limit(2), limit(3), limit(4), limit(5), Some(QuotaException::Unlimited), limit(7)];
    assert_eq!(storage.quotas().get_exceptions(GRACE).await.unwrap(), QuotaExceptions(exceptions));
    assert_eq!(storage.quotas().count_turns(GRACE, at(0)).await.unwrap(), 3);
    let period = QuotaTimes { today: at(0), month: at(0), now: at(0), except: "local/" };
    let used = Amount { tokens: 36, nanos: 0 };
    let expected = QuotaUse { today: used, month: used, reserved: Amount { tokens: 8, nanos: 9 } };
    assert_eq!(storage.quotas().get_use(GRACE, &period).await.unwrap(), expected);
}

async fn check_rate_limits(storage: &Storage) {
    let quota = RateQuota { interval_seconds: 1, burst: 1 };
    assert_eq!(storage.rate_limits().count(&[0xc3, 0xff], quota, at(0)).await.unwrap(), Some(at(131)));
    let keys = AttemptKeys { at_address: vec![0xc4, 0xff], at_account: vec![0xff, 0xff] };
    // The attempt is refused, so that the records remain.
    let refuse = |records: AttemptRecords| Err::<AttemptRecords, _>(records);
    let records = storage.rate_limits().begin_attempt(&keys, at(200), refuse).await.unwrap().unwrap_err();
    let expected = AttemptRecord { failures: 2, last_attempt: at(132), last_success: Some(at(133)) };
    assert_eq!(records.at_address, expected);
}
