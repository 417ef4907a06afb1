"""The pure core of a campaign: commands become events, events fold into a state. No clock, no input or output."""
