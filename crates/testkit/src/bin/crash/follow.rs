//! Following a chat until it is at rest: no turn runs and no message is queued.

use std::time::{Duration, Instant};

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::episode::Episode;
use crate::heard::{Heard, look_too};

/// Maximum time without an event while the server is not killed.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time after which a queued message that was not sent automatically is sent manually.
const QUEUE_TIMEOUT: Duration = Duration::from_millis(150);
/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Actor<'_> {
    /// Follows one turn after the other, beginning with `stream` if there is one.
    pub async fn follow_to_rest(&mut self, mut stream: Option<Response>, episode: &mut Episode) {
        let mut quiet_since = Instant::now();
        loop {
            if let Some(answer) = stream.take() {
                // A second subscriber follows from the beginning: both must receive the same.
                let mut second = Heard::default();
                second.begin_stream(self.kills() - episode.kills);
                let path = format!("/api/sessions/{}/stream", self.chat.id);
                let looking = look_too(self.person.request(Method::GET, &path), &mut second);
                tokio::select! {
                    biased;
                    () = self.follow(answer, episode) => {}
                    never = looking => match never {},
                }
                episode.heard.compare(second);
                quiet_since = Instant::now();
            }
            self.wait_until_up().await;
            let kills = self.kills();
            episode.heard.begin_stream(kills - episode.kills);
            let base = format!("/api/sessions/{}/stream", self.chat.id);
            let path = match episode.heard.open() {
                Some(open) => format!("{base}?after={}&turn={}", open.last, open.turn),
                None => base,
            };
            // The server was killed again.
            let Ok(answer) = self.person.request(Method::GET, &path).send().await else {
                quiet_since = Instant::now();
                continue;
            };
            match answer.status() {
                StatusCode::OK => {
                    if kills > episode.kills {
                        self.tally.resumed += 1;
                    }
                    stream = Some(answer);
                }
                // The followed turn has ended; another one may have started.
                StatusCode::NO_CONTENT if episode.heard.open().is_some() => episode.heard.let_go(),
                StatusCode::NO_CONTENT => {
                    if self.rests(quiet_since, episode).await {
                        return;
                    }
                }
                status => {
                    episode.faults.push(format!("the chat cannot be followed: {status}"));
                    return;
                }
            }
        }
    }

    /// Returns whether no turn runs and no message is queued. A queued message that is not sent automatically is sent
    /// manually.
    async fn rests(&mut self, quiet_since: Instant, episode: &mut Episode) -> bool {
        // Responses and stops are useless without a running turn.
        episode.deeds.retain(|(_, deed)| !deed.needs_answer());
        if let Some((_, deed)) = episode.deeds.pop() {
            self.act(deed, episode).await;
            return false;
        }
        if episode.queued.is_empty() {
            return true;
        }
        let Some((StatusCode::OK, queue)) = self.send(Method::GET, "queue", &json!({})).await else { return false };
        let Some(next) = queue["messages"][0]["id"].as_str() else {
            // The message that left the queue in the meantime is being answered now.
            let path = format!("/api/sessions/{}/stream", self.chat.id);
            let stream = self.person.request(Method::GET, &path).send().await;
            return stream.is_ok_and(|answer| answer.status() == StatusCode::NO_CONTENT);
        };
        // The server sends the next message by itself only after a regular end that no kill followed.
        let goes_by_itself = episode.heard.last_end() == Some("done") && self.kills() == episode.ended_after;
        let quiet = quiet_since.elapsed();
        if quiet < QUEUE_TIMEOUT || goes_by_itself && quiet < EVENT_TIMEOUT {
            tokio::time::sleep(POLL_INTERVAL).await;
            return false;
        }
        // A turn that started automatically can be stopped before the client receives any event of it. Then the
        // message is rightly still queued.
        if goes_by_itself && self.last_status().await.as_deref() == Some("done") {
            episode.faults.push(format!("lost: {next} waits, although the answer before it is done"));
        }
        // A turn that started automatically in the meantime is interrupted by it.
        episode.stops += 1;
        self.send(Method::POST, &format!("queue/{next}/send"), &json!({})).await;
        false
    }

    /// Returns the stored status of the newest message of the chat.
    async fn last_status(&mut self) -> Option<String> {
        let id = &self.chat.id;
        let path = format!("/rest/v1/ai_chat_messages?select=status&session_id=eq.{id}&order=created_at.desc&limit=1");
        let rows = self.steadily(|person| person.request(Method::GET, &path)).await?;
        let rows: Value = serde_json::from_str(&rows).ok()?;
        rows[0]["status"].as_str().map(str::to_owned)
    }

    /// Reads a stream to its end, and runs planned actions meanwhile.
    async fn follow(&mut self, mut answer: Response, episode: &mut Episode) {
        for waiting in episode.heard.waiting() {
            self.think_about(waiting, episode);
        }
        let (mut told, mut quiet_since) = (episode.heard.events, Instant::now());
        loop {
            let due = episode.deeds.first().map(|(at, _)| *at);
            let until = tokio::time::Instant::from_std(due.unwrap_or(quiet_since + EVENT_TIMEOUT));
            tokio::select! {
                piece = answer.chunk() => {
                    let Ok(Some(piece)) = piece else { return };
                    for waiting in episode.heard.take(&piece) {
                        self.think_about(waiting, episode);
                    }
                    episode.ended_after = self.kills();
                    // Keep-alive comments do not count as events.
                    if episode.heard.events > told {
                        (told, quiet_since) = (episode.heard.events, Instant::now());
                    }
                }
                () = tokio::time::sleep_until(until) => {
                    if due.is_none() {
                        episode.faults.push("nothing was told for a long time".to_owned());
                        return;
                    }
                    let (_, deed) = episode.deeds.remove(0);
                    self.act(deed, episode).await;
                    quiet_since = Instant::now();
                }
            }
        }
    }
}
