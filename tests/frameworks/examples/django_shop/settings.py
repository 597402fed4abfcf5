"""The settings of the shop: as little as Django needs."""

SECRET_KEY = "not a secret"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "orders.urls"
INSTALLED_APPS = ["orders"]
WSGI_APPLICATION = "wsgi.application"
USE_TZ = True
