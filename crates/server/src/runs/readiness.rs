//! What a built-in model can read before anybody asks: the list of a person's tools.

use domain::UserId;
use domain::model::Request;

use super::engine::SYSTEM;
use crate::app::App;
use crate::tools::discovery::Offer;

/// Has the model that answers by default read the tools of a person, if that is the built-in one and nobody waits for it:
/// the first question about them is then answered as soon as any other.
pub async fn prepare(app: &App, user: UserId) {
    let Some(model) = app.models.built_in_by_default() else { return };
    // Whoever has providers of their own asks those.
    if app.models.default(user).await.ok().as_ref() != Some(&model) {
        return;
    }
    let Ok(servers) = app.store.list_servers(user).await else { return };
    let toolset = app.tools.known(&servers);
    let offer = Offer::new(&toolset, app.models.capacity(user, &model).await, "", &[]);
    // Which tools fit depends on the words where they are too many.
    if matches!(offer, Offer::Whole) && !toolset.tools().is_empty() {
        app.models.prepare(Request { system: SYSTEM.to_owned(), tools: offer.specs(&toolset), ..Request::default() });
    }
}
