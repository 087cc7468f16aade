//! Tools that a chat without any tool lacks most. A small model that is asked which of them a message needs knows better what
//! it cannot look up than one that is asked whether it can: it invents the weather.

use domain::model::ToolSpec;
use serde_json::json;

/// Name of the tool that is not missing: the instructions contain the date.
const KNOWN: &str = "current_date";

/// Name, argument and purpose of each tool.
const TOOLS: [(&str, &str, &str); 11] = [
    (KNOWN, "when", "Tells today's date and the day of the week."),
    ("current_time", "city", "Tells the current time in a city."),
    ("weather_forecast", "city", "Tells the weather in a city, now and on the next days."),
    ("latest_news", "topic", "Lists the latest news and the results of matches."),
    ("market_price", "name", "Tells what a stock, a currency or a product costs now."),
    ("read_mail", "folder", "Lists and reads the emails of the user."),
    ("send_message", "recipient", "Sends an email or a message."),
    ("calendar", "day", "Lists the appointments of the user, and adds reminders."),
    ("open_file", "path", "Reads and changes the files of the user."),
    ("web_search", "query", "Searches the web, and opens pages."),
    ("control_device", "device", "Turns lights, heating and music on or off, and makes bookings and orders."),
];

/// Returns whether the model can do without this tool.
pub(crate) fn is_dispensable(tool: &ToolSpec) -> bool {
    tool.name == KNOWN
}

/// Returns the tools as a server would list them.
pub(crate) fn missing_tools() -> Vec<ToolSpec> {
    let tools = TOOLS.map(|(name, argument, description)| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({ "type": "object", "properties": { argument: { "type": "string" } } }),
    });
    tools.into()
}
