"""The prompt box and what stands above it: completion, chips for pastes, what waits."""
