"""The pages of audits inside Airflow, behind its own authentication (entry point `airflow.plugins`)."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from kgaudit.airflow.links import PREFIX


def _app() -> object:
    from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
    from airflow.api_fastapi.core_api.security import requires_access_view
    from fastapi import Depends, FastAPI

    from kgaudit.airflow.pages import add_pages

    # An app of a plugin stands open unless it asks who comes.
    app = FastAPI(
        title="kgaudit",
        dependencies=[Depends(requires_access_view(AccessView.PLUGINS))],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    add_pages(app)
    return app


class _Apps:
    """Makes the app where it is asked for: workers load plugins too, and need no web framework."""

    def __get__(self, instance: object, owner: type) -> list[dict[str, object]]:
        return [{"app": _app(), "url_prefix": PREFIX, "name": "kgaudit"}]


class KgauditPlugin(AirflowPlugin):
    """Adds the pages, and an entry to Airflow's navigation that leads to them."""

    name = "kgaudit"
    fastapi_apps = _Apps()
    external_views = [  # noqa: RUF012 - a list, as Airflow wants it
        {
            "name": "Knowledge graph audits",
            "href": f"{PREFIX}/",
            "destination": "nav",
            "category": "browse",
            "url_route": "kgaudit",
        }
    ]
