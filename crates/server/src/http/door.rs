//! `/v1`: the part of OpenAI's API with which other programs ask.

mod answer;
mod body;
mod caller;
mod chat;
mod files;
mod functions;
mod parameters;
mod refusal;
mod responses;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use domain::UserId;
use domain::api_key::Scope;
use domain::model::{ModelError, Request};
use futures_util::Stream;
use serde_json::{Value, json};

use super::error::ApiError;
use super::extract::Named;
use super::route::Access::SignedIn;
use super::route::{Section, get, post};
use super::sse;
use crate::app::App;
use crate::door::{Failure, Question, Said, answer};
use crate::files::sight::Takes;
use crate::models::{ModelId, ModelView, allowance};
use body::Body;
use caller::Caller;
use chat::ChatBody;
use refusal::Refusal;
use responses::ResponsesBody;

/// What a model's name ends with when the person's own tools are to be used.
const WITH_TOOLS: &str = ":tools";
/// The name of the model that answers in the app.
const DEFAULT: &str = "default";

/// The routes below `/v1`.
pub fn section() -> Section {
    let routes = [
        get("/models", SignedIn, models),
        get("/models/{id}", SignedIn, model),
        post("/chat/completions", SignedIn, complete),
        post("/responses", SignedIn, respond),
    ];
    Section::new("/v1", routes, |routes| {
        routes
            .fallback(async || Refusal::from(ApiError::NotFound("route")))
            .method_not_allowed_fallback(async || Refusal::from(ApiError::MethodNotAllowed))
    })
}

/// `GET /v1/models`: those that can be asked now.
async fn models(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Refusal> {
    Ok(Json(json!({ "object": "list", "data": listed(&app, &caller).await? })))
}

/// `GET /v1/models/{id}`: one of them. The line in its name is written `%2F` in the path.
async fn model(State(app): State<App>, caller: Caller, Named(id): Named) -> Result<Json<Value>, Refusal> {
    let named = listed(&app, &caller).await?.into_iter().find(|model| model["id"] == id.as_str());
    named.map(Json).ok_or_else(|| Refusal::unknown_model(&id))
}

/// The models as a program sees them: each a second time with the person's tools where the key may use them.
async fn listed(app: &App, caller: &Caller) -> Result<Vec<Value>, Refusal> {
    let (_, models) = app.models.list(caller.user).await.map_err(ApiError::from)?;
    let endings = if caller.may(Scope::Tools) { &["", WITH_TOOLS][..] } else { &[""] };
    let available = models.iter().filter(|model| model.available);
    let view = |model: &ModelView, ending: &str| {
        let id = format!("{}{ending}", model.id);
        json!({ "id": id, "object": "model", "created": 0, "owned_by": model.provider })
    };
    Ok(available.flat_map(|model| endings.iter().map(move |ending| view(model, ending))).collect())
}

/// `POST /v1/chat/completions`
async fn complete(State(app): State<App>, caller: Caller, Body(body): Body<ChatBody>) -> Result<Response, Refusal> {
    let asked = Asked::new(&app, &caller, &body.model).await?;
    let (mut request, given, form) = body.read(asked.with_tools)?;
    let takes = Takes::of(&app, caller.user, &asked.model).await;
    given.into_messages(&app, &mut request.messages, "messages", takes).await?;
    let shape = answer::Shape::new(asked.told(), app.clock.now());
    // A model is not asked for what nobody could be told.
    let place = if form.streams { Some(sse::place(&app, caller.user)?) } else { None };
    let said = asked.put(&app, &caller, request)?;
    match place {
        Some(place) => answer::stream(said, shape, form.tells_usage, app.tasks.shutdown_token().clone(), place).await,
        None => answer::whole(said, shape).await,
    }
}

/// `POST /v1/responses`
async fn respond(State(app): State<App>, caller: Caller, Body(body): Body<ResponsesBody>) -> Result<Response, Refusal> {
    let asked = Asked::new(&app, &caller, &body.model).await?;
    let streams = body.stream.unwrap_or(false);
    let (mut request, given) = body.read(asked.with_tools)?;
    let takes = Takes::of(&app, caller.user, &asked.model).await;
    given.into_messages(&app, &mut request.messages, "input", takes).await?;
    let shape = responses::answer::Answer::new(asked.told(), app.clock.now(), &request.response_format);
    let place = if streams { Some(sse::place(&app, caller.user)?) } else { None };
    let said = asked.put(&app, &caller, request)?;
    match place {
        Some(place) => responses::answer::stream(said, shape, app.tasks.shutdown_token().clone(), place).await,
        None => responses::answer::whole(said, shape).await,
    }
}

/// Who is asked, and with whose tools.
struct Asked {
    model: ModelId,
    with_tools: bool,
}

impl Asked {
    /// By a model's name, as a program writes it.
    async fn new(app: &App, caller: &Caller, name: &str) -> Result<Self, Refusal> {
        let (name, with_tools) = name.strip_suffix(WITH_TOOLS).map_or((name, false), |name| (name, true));
        if with_tools && !caller.may(Scope::Tools) {
            return Err(Refusal::forbidden("this key may not use tools; make one in the settings that may"));
        }
        let model = model_named(app, caller.user, name).await?;
        let spent = allowance::check(app, caller.user, &model).await;
        spent.map_err(|spent| Failure::from(ModelError::from(spent)))?;
        Ok(Self { model, with_tools })
    }

    /// The name that the answer bears.
    fn told(&self) -> String {
        format!("{}{}", self.model, if self.with_tools { WITH_TOOLS } else { "" })
    }

    /// Asks, once the limits allow it.
    fn put(
        self,
        app: &App,
        caller: &Caller,
        request: Request,
    ) -> Result<impl Stream<Item = Said> + Send + 'static + use<>, Refusal> {
        let turn = app.door.begin(caller.key, caller.user)?;
        let Self { model, with_tools } = self;
        Ok(answer(app, Question { user: caller.user, key: caller.own_key, model, request, with_tools }, turn))
    }
}

async fn model_named(app: &App, user: UserId, name: &str) -> Result<ModelId, Refusal> {
    if name == DEFAULT {
        return app.models.default(user).await.map_err(|error| Refusal::from(Failure::from(error)));
    }
    app.models.find(user, name).await.map_err(ApiError::from)?.ok_or_else(|| Refusal::unknown_model(name))
}
