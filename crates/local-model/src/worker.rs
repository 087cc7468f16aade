//! Loop of the worker thread: it takes requests from the queue, and reloads the model after a failure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::UserId;
use domain::model::{ModelError, ModelEvent, ModelStatus, Request};

use crate::engine::EngineState;
use crate::error::InferenceError;
use crate::output_sink::OutputSink;
use crate::queue::{FairQueue, QueueItem};

/// Loaded model that answers requestsfor an [`InferenceWorker`].
pub(crate) trait RequestHandler {
    /// Answers one request and sends its events to `out`.
    fn answer(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError>;

    /// Reads the prompt prefix of requests with the same instructions and tools, so that they are answered sooner.
    fn prepare(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError>;
}

/// A request and the sink for its response; an item of the [`FairQueue`].
#[derive(Debug)]
pub(crate) struct InferenceJob {
    pub request: Request,
    pub sink: OutputSink,
}

/// State shared by the worker thread and the handles to it.
#[derive(Debug)]
pub(crate) struct InferenceWorker {
    queue: FairQueue<InferenceJob>,
    state: Mutex<EngineState>,
}

impl InferenceWorker {
    pub(crate) fn new() -> Self {
        Self { queue: FairQueue::new(), state: Mutex::new(EngineState::Idle) }
    }

    /// Queues a request and reports the new positions to all waiting requests.
    pub(crate) fn submit(&self, user: UserId, job: InferenceJob) {
        if let Err(job) = self.queue.push(user, job) {
            job.sink.fail(ModelError::Unavailable("the built-in model is shutting down".to_owned()));
        }
        self.report_positions();
    }

    /// Returns the number of requests that wait for their turn.
    pub(crate) fn waiting_requests(&self) -> usize {
        self.queue.waiting_items()
    }

    /// Queues a prompt prefix to be read while no request waits.
    pub(crate) fn submit_background(&self, request: Request) {
        let is_same = |one: &InferenceJob, other: &InferenceJob| one.request == other.request;
        self.queue.push_background(InferenceJob { request, sink: OutputSink::discard() }, is_same);
    }

    /// Answers requests until [`Self::close`]. The model is loaded with the first one, reloaded after a failure, and
    /// unloaded after `idle_timeout` without requests.
    pub(crate) fn run<A: RequestHandler>(
        &self,
        idle_timeout: Option<Duration>,
        load: impl Fn(&OutputSink) -> Result<A, InferenceError>,
    ) {
        let mut loaded: Option<A> = None;
        loop {
            // Without a loaded model there is nothing to unload, and the thread sleeps until a request.
            let timeout = idle_timeout.filter(|_| loaded.is_some());
            let (job, is_background) = match self.queue.take(timeout) {
                QueueItem::Requested(job) => (job, false),
                QueueItem::Background(job) => {
                    (InferenceJob { sink: OutputSink::discard_until(self.queue.interrupt()), ..job }, true)
                }
                QueueItem::TimedOut => {
                    loaded = None;
                    self.set_state(EngineState::Idle);
                    tracing::info!("built-in model unloaded after idle timeout");
                    continue;
                }
                QueueItem::Closed => break,
            };
            // The taken request has left the queue, so everyone behind it moves up.
            self.report_positions();
            // Cancelled while it waited; loading the model for it would be wasted.
            if !job.sink.is_wanted() {
                continue;
            }
            let mut model = loaded.take();
            // A panic leaves the model in an unknown state, so it is dropped and loaded again.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let model = match &mut model {
                    Some(model) => model,
                    empty => {
                        self.set_state(EngineState::Loading);
                        job.sink.send(ModelEvent::Status(ModelStatus::Loading { done: 0, total: 0 }))?;
                        // A request that arrives during background work needs the model too, so loading is not
                        // interrupted.
                        let discard = OutputSink::discard();
                        empty.insert(load(if is_background { &discard } else { &job.sink })?)
                    }
                };
                self.set_state(EngineState::Ready);
                if is_background {
                    model.prepare(&job.request, &job.sink)
                } else {
                    model.answer(&job.request, &job.sink)
                }
            }));
            match outcome {
                Ok(Ok(())) => loaded = model,
                Ok(Err(InferenceError::Cancelled)) => {
                    loaded = model;
                    if is_background {
                        // It was interrupted by a request, so the rest is done later.
                        self.submit_background(job.request);
                    }
                }
                Ok(Err(InferenceError::Failed(error))) => {
                    // Without a model, loading failed; otherwise only this request did.
                    if model.is_none() {
                        tracing::warn!(%error, "failed to load the built-in model");
                        self.set_state(EngineState::Failed(error.to_string()));
                    }
                    loaded = model;
                    job.sink.fail(error);
                }
                Ok(Err(InferenceError::Unusable(error))) => {
                    self.set_state(EngineState::Idle);
                    job.sink.fail(error);
                }
                Err(_) => {
                    let error = "the built-in model failed and will be loaded again; try again";
                    tracing::error!("built-in model panicked");
                    self.set_state(EngineState::Failed(error.to_owned()));
                    job.sink.fail(ModelError::Unavailable(error.to_owned()));
                }
            }
            // Loading was cancelled.
            if loaded.is_none() && self.state() == EngineState::Loading {
                self.set_state(EngineState::Idle);
            }
        }
    }

    /// Drops all waiting requests and ends the thread.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    pub(crate) fn state(&self) -> EngineState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_state(&self, state: EngineState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn report_positions(&self) {
        let report = |job: &InferenceJob, ahead| {
            if ahead > 0 {
                // A cancelled request is removed at the next review.
                let _ = job.sink.send(ModelEvent::Status(ModelStatus::Queued { ahead }));
            }
        };
        self.queue.review(|job| job.sink.is_wanted(), report);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use domain::model::{FinishReason, ModelMessage};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::output_sink::ResponseItem;

    /// Records the requests it answers; panics on "break".
    struct Fake(Arc<Mutex<Vec<String>>>);

    impl RequestHandler for Fake {
        fn answer(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError> {
            let Some(ModelMessage::User { text, .. }) = request.messages.last() else { panic!("no message") };
            assert_ne!(text, "break", "told to break");
            self.0.lock().unwrap().push(text.clone());
            out.send(ModelEvent::Finish(FinishReason::Stop))
        }

        fn prepare(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError> {
            self.0.lock().unwrap().push(format!("prepared {}", request.system));
            out.check_cancelled()
        }
    }

    /// Counts how often it is dropped.
    struct Counted(Fake, Arc<AtomicUsize>);

    impl RequestHandler for Counted {
        fn answer(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError> {
            self.0.answer(request, out)
        }

        fn prepare(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError> {
            self.0.prepare(request, out)
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    struct TestClient {
        worker: Arc<InferenceWorker>,
        cancel: CancellationToken,
    }

    impl TestClient {
        fn ask(&self, user: UserId, text: &str) -> UnboundedReceiver<ResponseItem> {
            let (sender, receiver) = unbounded_channel();
            let request = Request { messages: vec![ModelMessage::user(text)], ..Request::default() };
            let sink = OutputSink::new(sender, self.cancel.child_token(), CancellationToken::new());
            self.worker.submit(user, InferenceJob { request, sink });
            receiver
        }
    }

    fn client() -> TestClient {
        TestClient { worker: Arc::new(InferenceWorker::new()), cancel: CancellationToken::new() }
    }

    fn all(mut receiver: UnboundedReceiver<ResponseItem>) -> Vec<ResponseItem> {
        std::iter::from_fn(|| receiver.blocking_recv()).collect()
    }

    fn queued(ahead: u32) -> ModelEvent {
        ModelEvent::Status(ModelStatus::Queued { ahead })
    }

    #[test]
    fn alternates_users_and_reports_positions() {
        let client = client();
        let (ann, bob) = (UserId::fresh(), UserId::fresh());
        let streams = [(ann, "a1"), (ann, "a2"), (bob, "b1")].map(|(user, text)| client.ask(user, text));
        let answered = Arc::new(Mutex::new(Vec::new()));
        let (worker, notes) = (client.worker.clone(), answered.clone());
        let thread = std::thread::spawn(move || worker.run(None, |_| Ok(Fake(notes.clone()))));
        let finish = Ok(ModelEvent::Finish(FinishReason::Stop));
        let [a1, a2, b1] = streams.map(all);
        assert_eq!(a1, [Ok(ModelEvent::Status(ModelStatus::Loading { done: 0, total: 0 })), finish.clone()]);
        assert_eq!(
            a2[..3],
            [1, 2, 2].map(|ahead| Ok(queued(ahead))),
            "alone, then behind b1, then a1 is being answered"
        );
        assert_eq!(b1[..2], [1, 1].map(|ahead| Ok(queued(ahead))));
        assert_eq!((a2.last(), b1.last()), (Some(&finish), Some(&finish)));
        assert_eq!(*answered.lock().unwrap(), ["a1", "b1", "a2"]);
        client.worker.close();
        thread.join().unwrap();
    }

    #[test]
    fn reloads_model_after_panic() {
        let client = client();
        let user = UserId::fresh();
        let loads = Arc::new(AtomicUsize::new(0));
        let (worker, count) = (client.worker.clone(), loads.clone());
        let thread = std::thread::spawn(move || {
            worker.run(None, |_| {
                count.fetch_add(1, Ordering::SeqCst);
                Ok(Fake(Arc::default()))
            });
        });
        let broken = all(client.ask(user, "break"));
        assert!(matches!(broken.last(), Some(Err(ModelError::Unavailable(_)))), "{broken:?}");
        assert!(matches!(client.worker.state(), EngineState::Failed(_)));
        let next = all(client.ask(user, "hello"));
        assert_eq!(next.last(), Some(&Ok(ModelEvent::Finish(FinishReason::Stop))));
        assert_eq!(loads.load(Ordering::SeqCst), 2);
        client.worker.close();
        thread.join().unwrap();
    }

    #[test]
    fn unloads_idle_model_and_reloads_it() {
        let client = client();
        let user = UserId::fresh();
        let (dropped, count) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (worker, drops, loads) = (client.worker.clone(), dropped.clone(), count.clone());
        let thread = std::thread::spawn(move || {
            worker.run(Some(Duration::from_millis(1)), |_| {
                loads.fetch_add(1, Ordering::SeqCst);
                Ok(Counted(Fake(Arc::default()), drops.clone()))
            });
        });
        all(client.ask(user, "hello"));
        while dropped.load(Ordering::SeqCst) == 0 || client.worker.state() != EngineState::Idle {
            std::thread::yield_now();
        }
        all(client.ask(user, "again"));
        assert_eq!(count.load(Ordering::SeqCst), 2);
        client.worker.close();
        thread.join().unwrap();
    }

    #[test]
    fn prepares_prefixes_when_no_request_waits() {
        let client = client();
        client.worker.submit_background(Request { system: "list".to_owned(), ..Request::default() });
        let waiting = client.ask(UserId::fresh(), "first");
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let (worker, noted) = (client.worker.clone(), notes.clone());
        let thread = std::thread::spawn(move || worker.run(None, |_| Ok(Fake(noted.clone()))));
        all(waiting);
        while notes.lock().unwrap().len() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(*notes.lock().unwrap(), ["first", "prepared list"]);
        client.worker.close();
        thread.join().unwrap();
    }

    #[test]
    fn drops_cancelled_requests() {
        let client = client();
        let (ann, bob) = (UserId::fresh(), UserId::fresh());
        drop(client.ask(ann, "gone"));
        let waiting = client.ask(bob, "here");
        let answered = Arc::new(Mutex::new(Vec::new()));
        let (worker, notes) = (client.worker.clone(), answered.clone());
        let thread = std::thread::spawn(move || worker.run(None, |_| Ok(Fake(notes.clone()))));
        all(waiting);
        assert_eq!(*answered.lock().unwrap(), ["here"]);
        client.worker.close();
        thread.join().unwrap();
    }
}
