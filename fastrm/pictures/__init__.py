"""All drawing: curves, maps, machines, policies and episodes. The only importer of matplotlib and Pillow."""
