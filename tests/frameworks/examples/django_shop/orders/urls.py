"""The shop's addresses."""

from django.urls import path

from orders import views

urlpatterns = [
    path("queue/<int:number>", views.queue),
    path("place/<int:number>", views.place),
    path("delivered", views.delivered),
]
