//! Repositories: one per aggregate, each with the functions that read and write its rows. Their `impl` blocks are in the
//! modules of their tables.

use crate::Storage;

macro_rules! repositories {
    ($($accessor:ident: $repository:ident = $rows:literal),+ $(,)?) => {
        impl Storage {
            $(
                #[doc = concat!("Returns the repository of ", $rows, ".")]
                pub fn $accessor(&self) -> $repository<'_> {
                    $repository { storage: self }
                }
            )+
        }

        $(
            #[doc = concat!("Repository of ", $rows, ".")]
            #[derive(Debug, Clone, Copy)]
            pub struct $repository<'a> {
                pub(crate) storage: &'a Storage,
            }
        )+
    };
}

repositories! {
    api_keys: ApiKeyRepository = "API keys",
    attachments: AttachmentRepository = "attachments that servers provided",
    audit_events: AuditEventRepository = "the audit log of accounts",
    auth_codes: AuthCodeRepository = "codes of the PKCE flow",
    auth_sessions: AuthSessionRepository = "sessions of users",
    branches: BranchRepository = "branches of chats",
    chat_settings: ChatSettingsRepository = "pinned and archived chats",
    chats: ChatRepository = "chats and their messages",
    connections: ConnectionRepository = "users' connections to MCP servers",
    credentials: CredentialRepository = "users' credentials of external services",
    factors: FactorRepository = "second factors",
    files: FileRepository = "files of chats",
    identities: IdentityRepository = "users' identities at the identity provider",
    interactions: InteractionRepository = "approvals, elicitations and sign-ins that turns wait for",
    model_providers: ModelProviderRepository = "users' model providers",
    models: ModelChoiceRepository = "users' choices of models and their settings",
    nodes: NodeRepository = "nodes on the same database, and their messages",
    one_time_tokens: OneTimeTokenRepository = "one-time tokens in emails",
    passkeys: PasskeyRepository = "passkeys of users and their challenges",
    permissions: PermissionRepository = "tool permissions and the audit log of tool calls",
    push: PushRepository = "browsers that receive push messages, and the keys to send them with",
    quotas: QuotaRepository = "quotas of users and what is reserved of them",
    queued_messages: QueuedMessageRepository = "messages that wait for the end of a turn",
    rate_limits: RateLimitRepository = "limits that all nodes count together",
    recovery_codes: RecoveryCodeRepository = "recovery codes",
    registration_tokens: RegistrationTokenRepository = "registration tokens",
    sealed_values: SealedValueRepository = "values that are encrypted with the master key",
    search: SearchRepository = "the search index",
    server_sign_ins: ServerSignInRepository = "sign-ins of users to MCP servers",
    shared_servers: SharedServerRepository = "MCP servers that the operator offers to users",
    shares: ShareRepository = "shared chats",
    signing_keys: SigningKeyRepository = "keys that sign access tokens",
    tool_tasks: ToolTaskRepository = "tool calls that run as tasks of their servers",
    turns: TurnRepository = "turns, their journals and their commands",
    usage: UsageRepository = "usage and cost of model calls",
    users: UserRepository = "accounts",
}
