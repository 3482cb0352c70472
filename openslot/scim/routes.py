"""Every handler of SCIM, by path."""

from openslot.routing import Mount
from openslot.scim.api import (
    create_user,
    get_user,
    list_users,
    patch_user,
    remove_user,
    replace_user,
    search_all,
    search_users,
)
from openslot.scim.discovery_api import (
    create_me,
    delete_me,
    get_config,
    get_me,
    get_resource_type,
    get_schema,
    list_groups,
    list_resource_types,
    list_schemas,
    patch_me,
    replace_me,
    run_bulk,
)
from openslot.scim.door import PREFIX

SCIM_ROUTES = Mount(
    prefix=PREFIX,
    handlers=[
        list_users,
        create_user,
        search_users,
        search_all,
        get_user,
        replace_user,
        patch_user,
        remove_user,
        get_config,
        list_schemas,
        get_schema,
        list_resource_types,
        get_resource_type,
        list_groups,
        get_me,
        create_me,
        replace_me,
        patch_me,
        delete_me,
        run_bulk,
    ],
)
