//! What this process holds in memory. Each test is a process of its own.

/// A message of the largest size (16 MiB), read, copied on its way and turned into text. The scripted server is in the same
/// process.
pub const BOUND: usize = 4 * (16 << 20);

/// Bytes in memory now. The highest mark begins anew from here.
pub fn now() -> usize {
    // 5 resets the highest mark of the process (proc_pid_clear_refs).
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    field("VmRSS:")
}

/// How many more bytes were in memory at most since there were `before`.
pub fn grown_since(before: usize) -> usize {
    field("VmHWM:").saturating_sub(before)
}

fn field(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
