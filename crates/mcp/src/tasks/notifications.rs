//! Notifications that a task has changed, from the connection to the calls that wait for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Calls that wait for a task, by task id. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskNotifications(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

/// Subscription to the changes of one task; removed on drop.
pub(crate) struct TaskSubscription {
    notifications: TaskNotifications,
    task_id: String,
    changed: Arc<Notify>,
}

impl TaskNotifications {
    /// Wakes the call that waits for a task. The content of the notification is ignored: the call polls the task.
    pub(crate) fn notify(&self, task_id: &str) {
        if let Some(changed) = self.with_subscribers(|subscribers| subscribers.get(task_id).cloned()) {
            changed.notify_one();
        }
    }

    /// Subscribes to the changes of a task.
    pub(crate) fn subscribe(&self, task_id: &str) -> TaskSubscription {
        let changed = Arc::<Notify>::default();
        self.with_subscribers(|subscribers| subscribers.insert(task_id.to_owned(), changed.clone()));
        TaskSubscription { notifications: self.clone(), task_id: task_id.to_owned(), changed }
    }

    fn with_subscribers<T>(&self, change: impl FnOnce(&mut HashMap<String, Arc<Notify>>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TaskSubscription {
    /// Waits for the next change.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for TaskSubscription {
    fn drop(&mut self) {
        self.notifications.with_subscribers(|subscribers| subscribers.remove(&self.task_id));
    }
}
