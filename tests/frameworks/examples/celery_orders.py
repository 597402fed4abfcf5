"""Sends tasks to the workers of celery_shop."""

from celery_shop import bill, pay

for order in range(40):
    bill.delay(order)
for order in range(10):
    pay.delay(order)
