"""The command sm-trn init."""
