"""The static web site: view models from the marts, templates, and the bundled front end."""
