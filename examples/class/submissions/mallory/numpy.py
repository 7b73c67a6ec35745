raise SystemExit("Python in a submission is never run; if you read this, it was.")
