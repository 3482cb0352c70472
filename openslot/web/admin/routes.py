"""All pages of the administration."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.admin.agent_keys import (
    ask_to_deactivate,
    ask_to_rotate,
    create_key_of_agent,
    deactivate_agent_key,
    rotate_agent_key,
)
from openslot.web.admin.agents import change_level, change_scopes, show_agent, show_agents
from openslot.web.admin.analytics import show_analytics
from openslot.web.admin.approvals import approve_call, reject_call, show_approval, show_approvals
from openslot.web.admin.audit import export_audit, show_audit, verify_audit
from openslot.web.admin.flags import remove_flag_override, set_flag_override, show_flag, show_flags, toggle_flag
from openslot.web.admin.jobs import retry_all_effects, retry_effect, show_jobs
from openslot.web.admin.log import export_platform_log, show_platform_log
from openslot.web.admin.mailbox import save_attachment, save_mail_source, show_mail, show_mail_html, show_mailbox
from openslot.web.admin.organization_deletion import ask_to_delete_organization, delete_any_organization
from openslot.web.admin.organizations import set_organization_plan, show_one_organization, show_organizations
from openslot.web.admin.system import create_backup_now, download_backup, show_system
from openslot.web.admin.users import (
    ask_to_disable,
    change_administrator,
    change_user_plan,
    disable_account,
    enable_account,
    show_user_account,
    show_users,
    sign_user_out,
)

ADMINISTRATION: list[HandlerFunction] = [
    show_analytics,
    show_users,
    show_user_account,
    change_user_plan,
    change_administrator,
    sign_user_out,
    ask_to_disable,
    disable_account,
    enable_account,
    show_organizations,
    show_one_organization,
    set_organization_plan,
    ask_to_delete_organization,
    delete_any_organization,
    show_agents,
    show_agent,
    change_level,
    change_scopes,
    create_key_of_agent,
    ask_to_rotate,
    rotate_agent_key,
    ask_to_deactivate,
    deactivate_agent_key,
    show_approvals,
    show_approval,
    approve_call,
    reject_call,
    show_audit,
    export_audit,
    verify_audit,
    show_flags,
    show_flag,
    toggle_flag,
    set_flag_override,
    remove_flag_override,
    show_jobs,
    retry_effect,
    retry_all_effects,
    show_mailbox,
    show_mail,
    show_mail_html,
    save_mail_source,
    save_attachment,
    show_system,
    create_backup_now,
    download_backup,
    show_platform_log,
    export_platform_log,
]
