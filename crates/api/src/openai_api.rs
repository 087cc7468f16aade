//! `/v1`: the OpenAI-compatible API, for API clients with an API key.

mod answer;
mod body;
mod caller;
mod chat;
mod conversation;
mod files;
mod functions;
mod parameters;
mod refusal;
mod responses;

use std::sync::Arc;

use agent::files::model_attachments::InputModalities;
use agent::models::{ModelId, ModelService, ModelView};
use agent::openai_api::{CompletionError, CompletionRequest, CompletionService, StreamItem};
use axum::Json;
use axum::extract::{FromRef, State};
use connections::ConnectionService;
use domain::api_key::Scope;
use domain::model::{ModelError, Request};
use domain::{Clock, UserId};
use futures_util::Stream;
use http_server::error::ApiError;
use http_server::extract::Named;
use http_server::response::Either;
use http_server::route::Access::SignedIn;
use http_server::route::Section;
use http_server::routes;
use http_server::sse::EventStreamResponse;
use platform::BackgroundTasks;
use schemars::JsonSchema;
use serde::Serialize;

use crate::AppState;
use crate::limiters::StreamLimiter;
use answer::ChatCompletion;
use body::Body;
use caller::Caller;
use chat::ChatCompletionRequest;
use files::RequestFiles;
use refusal::OpenAiError;
use responses::ResponseRequest;
use responses::answer::ResponseBody;

/// Suffix of a model's name that gives the model the tools of the user's connections.
const WITH_TOOLS: &str = ":tools";
/// Name of the model that is the default in the web app.
const DEFAULT_MODEL: &str = "default";

/// Returns the routes below `/v1`, with errors in OpenAI's shape.
pub fn section() -> Section<AppState> {
    let routes = routes! {
        /// Lists the available models. Those whose names end with `:tools` use the tools of the caller's connections.
        get("/models", SignedIn, list_models),
        /// Returns one of the models. The slash in its name is encoded as `%2F`.
        get("/models/{id}", SignedIn, get_model),
        /// Creates a chat completion. The server does not store the conversation.
        post("/chat/completions", SignedIn, create_chat_completion),
        /// Creates a response. The server does not store the conversation.
        post("/responses", SignedIn, create_response),
    };
    Section::new("/v1", routes, |routes| {
        routes
            .fallback(async || OpenAiError::from(ApiError::NotFound("route")))
            .method_not_allowed_fallback(async || OpenAiError::from(ApiError::MethodNotAllowed))
    })
}

/// The models that the caller can use.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenAiModelList {
    #[schemars(extend("const" = "list"))]
    object: &'static str,
    data: Vec<OpenAiModel>,
}

/// A model, as OpenAI describes it.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenAiModel {
    id: String,
    #[schemars(extend("const" = "model"))]
    object: &'static str,
    /// Always 0: the time is unknown.
    created: i64,
    /// Name of the provider.
    owned_by: String,
}

/// Lists the models that are available now (`GET /v1/models`).
async fn list_models(
    State(models): State<Arc<ModelService>>,
    caller: Caller,
) -> Result<Json<OpenAiModelList>, OpenAiError> {
    Ok(Json(OpenAiModelList { object: "list", data: available_models(&models, &caller).await? }))
}

/// Returns one model (`GET /v1/models/{id}`). The slash in its name is encoded as `%2F` in the path.
async fn get_model(
    State(models): State<Arc<ModelService>>,
    caller: Caller,
    Named(id): Named,
) -> Result<Json<OpenAiModel>, OpenAiError> {
    let named = available_models(&models, &caller).await?.into_iter().find(|model| model.id == id);
    named.map(Json).ok_or_else(|| OpenAiError::unknown_model(&id))
}

/// Returns the available models as OpenAI's objects. If the key's scope allows tools, each model is listed a second
/// time with the suffix [`WITH_TOOLS`].
async fn available_models(models: &ModelService, caller: &Caller) -> Result<Vec<OpenAiModel>, OpenAiError> {
    let (_, models) = models.list(caller.user).await.map_err(ApiError::from)?;
    let endings = if caller.may(Scope::Tools) { &["", WITH_TOOLS][..] } else { &[""] };
    let available = models.iter().filter(|model| model.available);
    let view = |model: &ModelView, ending: &str| OpenAiModel {
        id: format!("{}{ending}", model.id),
        object: "model",
        created: 0,
        owned_by: model.provider.clone(),
    };
    Ok(available.flat_map(|model| endings.iter().map(move |ending| view(model, ending))).collect())
}

/// Creates a chat completion (`POST /v1/chat/completions`).
async fn create_chat_completion(
    State(api): State<CompletionApi>,
    State(streams): State<StreamLimiter>,
    State(clock): State<Arc<dyn Clock>>,
    State(tasks): State<BackgroundTasks>,
    caller: Caller,
    Body(body): Body<ChatCompletionRequest>,
) -> Result<Either<Json<ChatCompletion>, EventStreamResponse>, OpenAiError> {
    let requested = api.resolve_model(&caller, &body.model).await?;
    let (mut request, given, form) = body.read(requested.with_tools)?;
    api.add_files(&caller, &requested.model, given, &mut request, "messages").await?;
    let shape = answer::Shape::new(requested.name(), clock.now());
    // The permit for the stream comes first: a model call whose output could not be sent would still cost money.
    let permit = if form.streams { Some(streams.acquire(caller.user)?) } else { None };
    let items = api.start(&caller, requested, request).await?;
    match permit {
        Some(permit) => {
            answer::stream(items, shape, form.tells_usage, tasks.shutdown_token().clone(), permit).await.map(Either::B)
        }
        None => Ok(Either::A(Json(answer::whole(items, shape).await?))),
    }
}

/// Creates a response (`POST /v1/responses`).
async fn create_response(
    State(api): State<CompletionApi>,
    State(streams): State<StreamLimiter>,
    State(clock): State<Arc<dyn Clock>>,
    State(tasks): State<BackgroundTasks>,
    caller: Caller,
    Body(body): Body<ResponseRequest>,
) -> Result<Either<Json<ResponseBody>, EventStreamResponse>, OpenAiError> {
    let requested = api.resolve_model(&caller, &body.model).await?;
    let is_stream = body.stream.unwrap_or(false);
    let (mut request, given) = body.read(requested.with_tools)?;
    api.add_files(&caller, &requested.model, given, &mut request, "input").await?;
    let shape = responses::answer::Answer::new(requested.name(), clock.now(), &request.response_format);
    // Before the call, as in `create_chat_completion`.
    let permit = if is_stream { Some(streams.acquire(caller.user)?) } else { None };
    let items = api.start(&caller, requested, request).await?;
    match permit {
        Some(permit) => {
            responses::answer::stream(items, shape, tasks.shutdown_token().clone(), permit).await.map(Either::B)
        }
        None => Ok(Either::A(Json(responses::answer::whole(items, shape).await?))),
    }
}

/// The requested model, and whether it gets the user's tools.
struct RequestedModel {
    model: ModelId,
    with_tools: bool,
}

impl RequestedModel {
    /// Returns the name of the model in the response.
    fn name(&self) -> String {
        format!("{}{}", self.model, if self.with_tools { WITH_TOOLS } else { "" })
    }
}

/// The services of both endpoints: models, users' tools and completions.
#[derive(Debug, Clone)]
struct CompletionApi {
    models: Arc<ModelService>,
    connections: ConnectionService,
    completions: CompletionService,
}

impl FromRef<AppState> for CompletionApi {
    fn from_ref(state: &AppState) -> Self {
        Self {
            models: Arc::clone(&state.models),
            connections: state.connections.clone(),
            completions: state.completions.clone(),
        }
    }
}

impl CompletionApi {
    /// Resolves a model's name, and checks the key's scope and the user's quota.
    async fn resolve_model(&self, caller: &Caller, name: &str) -> Result<RequestedModel, OpenAiError> {
        let (name, with_tools) = name.strip_suffix(WITH_TOOLS).map_or((name, false), |name| (name, true));
        if with_tools && !caller.may(Scope::Tools) {
            return Err(OpenAiError::forbidden("this key may not use tools; make one in the settings that may"));
        }
        let model = find_model(&self.models, caller.user, name).await?;
        let checked = self.models.check_quotas(caller.user, &model).await;
        checked.map_err(|refused| CompletionError::from(ModelError::from(refused)))?;
        Ok(RequestedModel { model, with_tools })
    }

    /// Decodes or fetches the files of a request and attaches them to its messages.
    async fn add_files(
        &self,
        caller: &Caller,
        model: &ModelId,
        files: RequestFiles,
        request: &mut Request,
        field: &'static str,
    ) -> Result<(), OpenAiError> {
        let modalities = InputModalities::of_model(&self.models, caller.user, model).await;
        files.into_messages(self.connections.guarded_http(), &mut request.messages, field, modalities).await
    }

    /// Starts the completion, if the rate limits of the key and the user allow it. It counts as a turn.
    async fn start(
        &self,
        caller: &Caller,
        requested: RequestedModel,
        request: Request,
    ) -> Result<impl Stream<Item = StreamItem> + Send + 'static + use<>, OpenAiError> {
        // Last of the checks, so that a rejected request does not count.
        let permit = self.completions.permit(caller.key, caller.user).await?;
        let counted = self.models.quotas.count_turn(caller.user).await;
        // A request whose model fails counts, too.
        let _counted = counted.map_err(|refused| CompletionError::from(ModelError::from(refused)))?;
        let RequestedModel { model, with_tools } = requested;
        let request = CompletionRequest { user: caller.user, key: caller.own_key, model, request, with_tools };
        Ok(self.completions.answer(request, permit))
    }
}

/// Returns the model of a name, or the error that it is unknown.
async fn find_model(models: &ModelService, user: UserId, name: &str) -> Result<ModelId, OpenAiError> {
    if name == DEFAULT_MODEL {
        return models.default(user).await.map_err(|error| OpenAiError::from(CompletionError::from(error)));
    }
    models.find(user, name).await.map_err(ApiError::from)?.ok_or_else(|| OpenAiError::unknown_model(name))
}
