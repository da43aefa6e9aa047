"""What tests share: strategies, models, results, servers and shops made for them."""
