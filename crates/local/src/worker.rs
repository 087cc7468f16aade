//! The loop of the thread that thinks: take a question, have it answered, survive whatever happens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::UserId;
use domain::model::{ModelError, ModelEvent, ModelStatus, Request};

use crate::engine::State;
use crate::error::Halt;
use crate::outlet::Outlet;
use crate::queue::{Queue, Taken};

/// Something that answers requests.
pub(crate) trait Answers {
    /// Answers one request into `out`.
    fn answer(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt>;

    /// Reads what requests with the same instructions and tools begin with, so that they are answered sooner.
    fn prepare(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt>;
}

/// A question and where its answer goes.
#[derive(Debug)]
pub(crate) struct Job {
    pub request: Request,
    pub outlet: Outlet,
}

/// What the thread and the handles to it share.
#[derive(Debug)]
pub(crate) struct Worker {
    queue: Queue<Job>,
    state: Mutex<State>,
}

impl Worker {
    pub(crate) fn new() -> Self {
        Self { queue: Queue::new(), state: Mutex::new(State::Idle) }
    }

    /// Puts a question into the queue and tells everybody who waits where they stand.
    pub(crate) fn submit(&self, user: UserId, job: Job) {
        if let Err(job) = self.queue.push(user, job) {
            job.outlet.fail(ModelError::Unavailable("the built-in model is shutting down".to_owned()));
        }
        self.tell_positions();
    }

    /// Has the beginning of questions read while nobody waits.
    pub(crate) fn submit_spare(&self, request: Request) {
        let is_same = |one: &Job, other: &Job| one.request == other.request;
        self.queue.push_spare(Job { request, outlet: Outlet::unheard() }, is_same);
    }

    /// Answers questions until [`Self::close`]. The model is loaded with the first one, and again after it broke; when
    /// nobody needed it for as long as `idle`, it is let go.
    pub(crate) fn work<A: Answers>(&self, idle: Option<Duration>, load: impl Fn(&Outlet) -> Result<A, Halt>) {
        let mut loaded: Option<A> = None;
        loop {
            let patience = idle.filter(|_| loaded.is_some());
            let (job, is_spare) = match self.queue.take(patience) {
                Taken::Wanted(job) => (job, false),
                Taken::Spare(job) => (Job { outlet: Outlet::until(self.queue.interrupt()), ..job }, true),
                Taken::Nothing => {
                    loaded = None;
                    self.set(State::Idle);
                    tracing::info!("the built-in model is let go: nobody has needed it for a while");
                    continue;
                }
                Taken::Closed => break,
            };
            self.tell_positions();
            if !job.outlet.is_wanted() {
                continue;
            }
            let mut model = loaded.take();
            // A panic leaves the model in a state nobody knows, so that it is dropped and loaded again.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let model = match &mut model {
                    Some(model) => model,
                    empty => {
                        self.set(State::Loading);
                        job.outlet.send(ModelEvent::Status(ModelStatus::Loading { done: 0, total: 0 }))?;
                        // Who comes while it is loaded for nobody waits for the same.
                        let unheard = Outlet::unheard();
                        empty.insert(load(if is_spare { &unheard } else { &job.outlet })?)
                    }
                };
                self.set(State::Ready);
                if is_spare {
                    model.prepare(&job.request, &job.outlet)
                } else {
                    model.answer(&job.request, &job.outlet)
                }
            }));
            match outcome {
                Ok(Ok(())) => loaded = model,
                Ok(Err(Halt::Cancelled)) => {
                    loaded = model;
                    if is_spare {
                        self.submit_spare(job.request);
                    }
                }
                Ok(Err(Halt::Failed(error))) => {
                    if model.is_none() {
                        tracing::warn!(%error, "the built-in model could not be loaded");
                        self.set(State::Failed(error.to_string()));
                    }
                    loaded = model;
                    job.outlet.fail(error);
                }
                Ok(Err(Halt::Broken(error))) => {
                    self.set(State::Idle);
                    job.outlet.fail(error);
                }
                Err(_) => {
                    let error = "the built-in model broke down and will be loaded again; try again";
                    tracing::error!("the built-in model panicked");
                    self.set(State::Failed(error.to_owned()));
                    job.outlet.fail(ModelError::Unavailable(error.to_owned()));
                }
            }
            if loaded.is_none() && self.state() == State::Loading {
                self.set(State::Idle);
            }
        }
    }

    /// Forgets who waits, and lets the thread end.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    pub(crate) fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn tell_positions(&self) {
        let tell = |job: &Job, ahead| {
            if ahead > 0 {
                // Whoever is gone is forgotten at the next review.
                let _ = job.outlet.send(ModelEvent::Status(ModelStatus::Queued { ahead }));
            }
        };
        self.queue.review(|job| job.outlet.is_wanted(), tell);
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
    use crate::outlet::Item;

    /// Notes whom it answers; breaks when told to.
    struct Fake(Arc<Mutex<Vec<String>>>);

    impl Answers for Fake {
        fn answer(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
            let Some(ModelMessage::User { text, .. }) = request.messages.last() else { panic!("no message") };
            assert_ne!(text, "break", "told to break");
            self.0.lock().unwrap().push(text.clone());
            out.send(ModelEvent::Finish(FinishReason::Stop))
        }

        fn prepare(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
            self.0.lock().unwrap().push(format!("prepared {}", request.system));
            out.check()
        }
    }

    /// Counts how often it was let go.
    struct Counted(Fake, Arc<AtomicUsize>);

    impl Answers for Counted {
        fn answer(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
            self.0.answer(request, out)
        }

        fn prepare(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
            self.0.prepare(request, out)
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    struct Asker {
        worker: Arc<Worker>,
        cancel: CancellationToken,
    }

    impl Asker {
        fn ask(&self, user: UserId, text: &str) -> UnboundedReceiver<Item> {
            let (sender, receiver) = unbounded_channel();
            let request = Request { messages: vec![ModelMessage::user(text)], ..Request::default() };
            let outlet = Outlet::new(sender, self.cancel.child_token(), CancellationToken::new());
            self.worker.submit(user, Job { request, outlet });
            receiver
        }
    }

    fn asker() -> Asker {
        Asker { worker: Arc::new(Worker::new()), cancel: CancellationToken::new() }
    }

    fn all(mut receiver: UnboundedReceiver<Item>) -> Vec<Item> {
        std::iter::from_fn(|| receiver.blocking_recv()).collect()
    }

    fn queued(ahead: u32) -> ModelEvent {
        ModelEvent::Status(ModelStatus::Queued { ahead })
    }

    #[test]
    fn people_take_turns_and_see_the_queue_move() {
        let asker = asker();
        let (ann, bob) = (UserId::fresh(), UserId::fresh());
        let streams = [(ann, "a1"), (ann, "a2"), (bob, "b1")].map(|(user, text)| asker.ask(user, text));
        let answered = Arc::new(Mutex::new(Vec::new()));
        let (worker, notes) = (asker.worker.clone(), answered.clone());
        let thread = std::thread::spawn(move || worker.work(None, |_| Ok(Fake(notes.clone()))));
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
        asker.worker.close();
        thread.join().unwrap();
    }

    #[test]
    fn a_breakdown_ends_one_answer_and_the_model_is_loaded_again() {
        let asker = asker();
        let user = UserId::fresh();
        let loads = Arc::new(AtomicUsize::new(0));
        let (worker, count) = (asker.worker.clone(), loads.clone());
        let thread = std::thread::spawn(move || {
            worker.work(None, |_| {
                count.fetch_add(1, Ordering::SeqCst);
                Ok(Fake(Arc::default()))
            });
        });
        let broken = all(asker.ask(user, "break"));
        assert!(matches!(broken.last(), Some(Err(ModelError::Unavailable(_)))), "{broken:?}");
        assert!(matches!(asker.worker.state(), State::Failed(_)));
        let next = all(asker.ask(user, "hello"));
        assert_eq!(next.last(), Some(&Ok(ModelEvent::Finish(FinishReason::Stop))));
        assert_eq!(loads.load(Ordering::SeqCst), 2);
        asker.worker.close();
        thread.join().unwrap();
    }

    #[test]
    fn a_model_that_nobody_needs_is_let_go_and_comes_back() {
        let asker = asker();
        let user = UserId::fresh();
        let (dropped, count) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (worker, drops, loads) = (asker.worker.clone(), dropped.clone(), count.clone());
        let thread = std::thread::spawn(move || {
            worker.work(Some(Duration::from_millis(1)), |_| {
                loads.fetch_add(1, Ordering::SeqCst);
                Ok(Counted(Fake(Arc::default()), drops.clone()))
            });
        });
        all(asker.ask(user, "hello"));
        while dropped.load(Ordering::SeqCst) == 0 || asker.worker.state() != State::Idle {
            std::thread::yield_now();
        }
        all(asker.ask(user, "again"));
        assert_eq!(count.load(Ordering::SeqCst), 2);
        asker.worker.close();
        thread.join().unwrap();
    }

    #[test]
    fn lists_are_read_when_nobody_waits() {
        let asker = asker();
        asker.worker.submit_spare(Request { system: "list".to_owned(), ..Request::default() });
        let waiting = asker.ask(UserId::fresh(), "first");
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let (worker, noted) = (asker.worker.clone(), notes.clone());
        let thread = std::thread::spawn(move || worker.work(None, |_| Ok(Fake(noted.clone()))));
        all(waiting);
        while notes.lock().unwrap().len() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(*notes.lock().unwrap(), ["first", "prepared list"]);
        asker.worker.close();
        thread.join().unwrap();
    }

    #[test]
    fn who_gives_up_waiting_is_forgotten() {
        let asker = asker();
        let (ann, bob) = (UserId::fresh(), UserId::fresh());
        drop(asker.ask(ann, "gone"));
        let waiting = asker.ask(bob, "here");
        let answered = Arc::new(Mutex::new(Vec::new()));
        let (worker, notes) = (asker.worker.clone(), answered.clone());
        let thread = std::thread::spawn(move || worker.work(None, |_| Ok(Fake(notes.clone()))));
        all(waiting);
        assert_eq!(*answered.lock().unwrap(), ["here"]);
        asker.worker.close();
        thread.join().unwrap();
    }
}
