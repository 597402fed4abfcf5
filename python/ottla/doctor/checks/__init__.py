"""The judgements behind the verdict, one module per part of the cluster: facts in, findings out."""
