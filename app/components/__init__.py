"""Components that pages share: galleries, plots, forms, tables and notices."""
